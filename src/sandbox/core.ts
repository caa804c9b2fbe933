// The state around one engine: world, journal and feed, and what a snapshot, a restore and a reset
// of all of them are.

import type { DataFile } from './data-file.ts'
import { unmeasured } from './deliveries/shown.ts'
import { createFeed, type Feed } from './event-bus.ts'
import { type Change, createJournal, type Journal } from './journal.ts'
import type { SubscriptionOption } from './options.ts'
import { mask } from './organizations.ts'
import type { Mailer } from './outbox.ts'
import type { Engine, EngineChange, EngineClock, EngineFaults } from './ports.ts'
import { applyAgain, secretOf, toldAgain } from './reopened.ts'
import { changesOf, type SavedState, stateChange } from './saved-state.ts'
import type { Told } from './schemas/snapshot.ts'
import type { Snapshot } from './snapshot.ts'
import { createWorld, emptyWorld, type World } from './state.ts'
import { act } from './verifications.ts'

export interface StateOptions {
  readonly file: DataFile | undefined
  /** What the file holds; undefined when it is new. */
  readonly saved: SavedState | undefined
  /** What the options say, to be compared with at a later start. */
  readonly told: Told
  readonly mailer: Mailer | undefined
  readonly origin: () => string
  readonly subscriptions: readonly SubscriptionOption[]
  readonly makeEngine: (onChange: (change: EngineChange) => void) => Engine
}

export interface SandboxState {
  readonly engine: Engine
  readonly world: World
  readonly journal: Journal
  readonly feed: Feed
  /** The clock as users see it: every change of it is kept. */
  readonly clock: EngineClock
  /** The faults as users see them: every change and every strike is kept. */
  readonly faults: EngineFaults
  /** Whether it began empty, without what a data file held. */
  readonly fresh: boolean
  secret(): string
  snapshot(): Snapshot
  restore(snapshot: Snapshot): void
  reset(): void
}

/** Makes the state, from its file where that holds one. */
export function createState(options: StateOptions): SandboxState {
  const { saved } = options
  const feed = createFeed()
  let secret = ''
  const record = (change: Change) => journal.record(change)
  const engine = options.makeEngine((change) => {
    record(change)
    feed.publish({ type: change.kind, data: masked(change) })
  })
  const { clock, random, faults, deliveries } = engine
  const parts = () => ({
    version: 1 as const,
    seed: random.seed,
    secret,
    clock: clock.dump(),
    random: random.state(),
    faults: faults.dump(),
  })
  const told = saved ? toldAgain(saved.told, options.told) : options.told
  const journal: Journal = createJournal(options.file, () => [
    stateChange({ ...parts(), world: world.counts() }, told),
  ])
  const world: World = createWorld({
    ...options,
    clock,
    random,
    feed,
    record,
    touch: () => journal.touch(),
    emit: (occurrence) => deliveries.emit(occurrence),
    expire,
  })

  const snapshot = (): Snapshot => ({ ...parts(), world: world.dump(), engine: deliveries.dump() })
  const load = (next: Snapshot) => {
    secret = next.secret
    clock.load(next.clock)
    faults.load(next.faults)
    world.load(next.world)
    deliveries.load(next.engine)
    // Last, so that whatever loading rolled leaves no trace.
    random.restore(next.seed, next.random)
  }
  const restore = (next: Snapshot) => {
    load(next)
    journal.replace(changesOf(next))
    feed.publish({ type: 'state', data: { restored: true } })
  }

  // Drawn in any case, so that what follows from the seed does not depend on it.
  const drawn = `whsec_${random.token()}`
  secret = saved ? secretOf(saved, options.told) : (options.told.secret ?? drawn)
  world.load(emptyWorld(clock.now()))
  subscribe(engine, options.subscriptions, secret)
  // Copied: what the state holds goes on changing.
  const initial = structuredClone(snapshot())
  journal.replace(saved ? begunAgain(saved) : changesOf(initial))

  function begunAgain(before: SavedState): Change[] {
    const next = secret
    load(before.snapshot)
    const known = applyAgain(deliveries.subscriptions, before, options.told)
    secret = next
    const others = options.subscriptions.filter(({ url }) => !known.has(url))
    subscribe(engine, others, secret)
    return changesOf(snapshot())
  }

  return {
    engine,
    world,
    journal,
    feed,
    clock: keptClock(clock, journal),
    faults: keptFaults(faults, journal),
    fresh: !saved,
    secret: () => secret,
    snapshot: () => structuredClone(unmeasuredState(snapshot())),
    restore: (next) => restore(structuredClone(next)),
    reset: () => restore(structuredClone(initial)),
  }
}

function unmeasuredState({ engine, ...rest }: Snapshot): Snapshot {
  const deliveries = engine.deliveries.map(unmeasured)
  return { ...rest, engine: { ...engine, deliveries } }
}

/** Section 6: a verification expires at its date, unless its subject has submitted by then. */
function expire(world: World, row: Parameters<typeof act>[1]): void {
  const { status } = row.resource
  if (status !== 'initiated' && status !== 'in_progress') return
  act(world, row, { steps: [{ action: 'expire' }] })
}

function subscribe(
  { deliveries: { subscriptions } }: Engine,
  wanted: readonly SubscriptionOption[],
  secret: string,
): void {
  for (const { url, events = ['*'], secret: own = secret } of wanted) {
    subscriptions.create({ url, events: [...events], secret: own })
  }
}

function masked({ id, value }: EngineChange): unknown {
  if (typeof value !== 'object' || value === null) return { id, removed: true }
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) =>
      /secret/i.test(name) ? [name, typeof one === 'string' ? mask(one) : '…'] : [name, one],
    ),
  )
}

/** Clock and faults stand in the row that every transaction writes; they start one of their own. */
function keptClock(clock: EngineClock, { touch }: Journal): EngineClock {
  return {
    now: () => clock.now(),
    get frozen() {
      return clock.frozen
    },
    freeze() {
      clock.freeze()
      touch()
    },
    unfreeze() {
      clock.unfreeze()
      touch()
    },
    set: (date) => clock.set(date).finally(touch),
    advance: (by) => clock.advance(by).finally(touch),
    schedule: (at, task) => clock.schedule(at, task),
    dump: () => clock.dump(),
    load: (saved) => clock.load(saved),
    close: () => clock.close(),
  }
}

function keptFaults(faults: EngineFaults, { touch }: Journal): EngineFaults {
  return {
    list: () => faults.list(),
    set(wanted) {
      const wrong = faults.set(wanted)
      if (wrong.length === 0) touch()
      return wrong
    },
    clear() {
      faults.clear()
      touch()
    },
    forApi(request) {
      const fault = faults.forApi(request)
      // Also a die that did not come up was thrown.
      if (faults.list().length > 0) touch()
      return fault
    },
    dump: () => faults.dump(),
    load: (saved) => faults.load(saved),
  }
}
