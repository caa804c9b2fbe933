// The state around one engine: world, journal and feed, and what a snapshot, a restore and a reset
// of all of them are.
import type { DataFile } from './data-file.ts'
import type { Engine, EngineChange, EngineClock } from './engine.ts'
import { createFeed, type Feed } from './feed.ts'
import { type Change, createJournal, type Journal } from './journal.ts'
import type { SubscriptionOption } from './options.ts'
import { mask } from './organisations.ts'
import type { Mailer } from './outbox.ts'
import { changesOf, organisationsChange, snapshotIn, stateChange } from './saved-state.ts'
import type { Snapshot } from './snapshot.ts'
import { act } from './verifications.ts'
import { createWorld, emptyWorld, type World } from './world.ts'

export interface StateOptions {
  readonly seed: string | number
  readonly file: DataFile | undefined
  readonly mailer: Mailer | undefined
  readonly origin: () => string
  readonly subscriptions: readonly SubscriptionOption[]
  readonly secret: string | undefined
  readonly makeEngine: (onChange: (change: EngineChange) => void) => Engine
}

export interface SandboxState {
  readonly engine: Engine
  readonly world: World
  readonly journal: Journal
  readonly feed: Feed
  /** The clock as users see it: every change of it is kept. */
  readonly clock: EngineClock
  /** Whether it began empty, without what a data file held. */
  readonly fresh: boolean
  secret(): string
  snapshot(): Snapshot
  restore(snapshot: Snapshot): void
  reset(): void
}

/** Makes the state, from its file where that holds one. */
export function createState(options: StateOptions): SandboxState {
  const { seed, file } = options
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
    seed,
    secret,
    clock: clock.dump(),
    random: random.state(),
    faults: faults.dump(),
  })
  const journal: Journal = createJournal(file, () => [
    stateChange({ ...parts(), seq: world.lastSeq() }),
  ])
  const world: World = createWorld({
    ...options,
    clock,
    random,
    feed,
    record,
    emit: (occurrence) => deliveries.emit(occurrence),
    expire,
  })

  const snapshot = (): Snapshot => ({ ...parts(), world: world.dump(), engine: deliveries.dump() })
  const restore = (next: Snapshot) => {
    secret = next.secret
    clock.load(next.clock)
    faults.load(next.faults)
    world.load(next.world)
    deliveries.load(next.engine)
    // Last, so that whatever loading rolled leaves no trace.
    random.restore(next.random)
    journal.replace(changesOf(next))
    feed.publish({ type: 'state', data: { restored: true } })
  }

  // Drawn in any case, so that what follows from the seed does not depend on it.
  const drawn = `whsec_${random.token()}`
  secret = options.secret ?? drawn
  world.load(emptyWorld(clock.now()))
  const subscribe = () => addSubscriptions(engine, options.subscriptions, secret)
  const saved = file && snapshotIn(file)
  if (!saved) subscribe()
  // Copied: what the state holds goes on changing.
  const initial = structuredClone(snapshot())
  if (saved) {
    restore(saved)
    secret = options.secret ?? secret
    subscribe()
  } else journal.replace(changesOf(initial))

  return {
    engine,
    world,
    journal,
    feed,
    clock: keptClock(clock, () => record(organisationsChange(world.organisations.dump()))),
    fresh: !saved,
    secret: () => secret,
    snapshot: () => structuredClone(snapshot()),
    restore: (next) => restore(structuredClone(next)),
    reset: () => restore(structuredClone(initial)),
  }
}

/** Section 6: a verification expires at its date, unless its subject has submitted by then. */
function expire(world: World, row: Parameters<typeof act>[1]): void {
  const { status } = row.resource
  if (status !== 'initiated' && status !== 'in_progress') return
  act(world, row, { steps: [{ action: 'expire' }] })
}

/** Those that a data file already has are not added again. */
function addSubscriptions(
  { deliveries: { subscriptions } }: Engine,
  wanted: readonly SubscriptionOption[],
  secret: string,
): void {
  const known = new Set(subscriptions.list().map(({ url }) => url))
  for (const { url, events = ['*'], secret: own = secret } of wanted) {
    if (!known.has(url)) subscriptions.create({ url, events: [...events], secret: own })
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

/** The clock stands in the row that every transaction writes; a change of it alone starts one. */
function keptClock(clock: EngineClock, changed: () => void): EngineClock {
  return {
    now: () => clock.now(),
    get frozen() {
      return clock.frozen
    },
    freeze() {
      clock.freeze()
      changed()
    },
    unfreeze() {
      clock.unfreeze()
      changed()
    },
    async set(date) {
      await clock.set(date)
      changed()
    },
    async advance(by) {
      await clock.advance(by)
      changed()
    },
    schedule: (at, task) => clock.schedule(at, task),
    dump: () => clock.dump(),
    load: (saved) => clock.load(saved),
    close: () => clock.close(),
  }
}
