// Puts a sandbox together from an engine: the state, everything that answers requests, and the
// port. What requests do is decided elsewhere.
import { WebhookError } from '../errors.ts'
import type { AssembledVerification } from '../protocol/resources.ts'
import type { Scenario } from '../protocol/scenario.ts'
import { apiPath } from './api.ts'
import { createApp } from './app.ts'
import { assemble } from './assemble.ts'
import { controlPath } from './control.ts'
import { toStep } from './control-handlers.ts'
import type { DataFile } from './data-file.ts'
import type { Engine, EngineChange } from './engine.ts'
import type { Listening, ListenOptions } from './listen.ts'
import { smtpMailer } from './mailer.ts'
import type { SandboxOptions } from './options.ts'
import {
  recordedClock,
  recordedDeliveries,
  recordedFaults,
  type SandboxClock,
  type SandboxDeliveries,
  type SandboxFaults,
} from './recorded.ts'
import { record } from './recorder.ts'
import { invalid, Refusal } from './refusal.ts'
import { createState, type SandboxState } from './sandbox-state.ts'
import { type Snapshot, snapshotFault } from './snapshot.ts'
import type { ActionName } from './transitions.ts'
import { act, type Step } from './verifications.ts'

/** An action by its name, or with the step or the reason that it is about. */
export type Action = ActionName | Step

/** The service in a box. */
export interface Sandbox {
  /** The whole service without a port; it can stand where a `fetch` is asked for. */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  /** Serves over HTTP, on loopback and any free port by default. */
  listen(options?: ListenOptions): Promise<Listening>
  /** Where it is reached, without a path; `/v2/api` and `/_sandbox` lie below it. */
  readonly url: string
  /** The API's base address: `url` with `/v2/api`. */
  readonly baseUrl: string
  /** A key of the Professional organisation. */
  readonly apiKey: string
  /** The secret of subscriptions that name none. */
  readonly secret: string
  /**
   * Acts on a verification as its subject, its operator or the clock: all actions, or none.
   *
   * @throws WebhookError `VERIFICATION_UNKNOWN`, `ILLEGAL_TRANSITION`
   */
  act(
    id: string,
    actions: Action | readonly Action[],
    options?: { readonly force?: boolean },
  ): Promise<AssembledVerification>
  readonly clock: SandboxClock
  readonly faults: SandboxFaults
  readonly deliveries: SandboxDeliveries
  /** Resolves when no delivery and no mail is due. */
  drain(): Promise<void>
  /** What drove ids, tokens and dice. */
  readonly seed: string | number
  /** Back to the state right after the start, in everything. */
  reset(): void
  /** The whole state as JSON, secrets included. */
  snapshot(): Snapshot
  /**
   * What was done since the start or the last reset, as a scenario that does it again, byte for
   * byte: print it when a test fails.
   *
   * @throws WebhookError `SCENARIO_FAILED` after more than 10,000 actions.
   */
  scenario(): Scenario
  /** @throws WebhookError `OPTION_INVALID` when it is no snapshot. */
  restore(snapshot: Snapshot): void
  close(): Promise<void>
}

export interface SandboxParts {
  readonly options: SandboxOptions
  readonly seed: string | number
  readonly file: DataFile | undefined
  readonly makeEngine: (onChange: (change: EngineChange) => void) => Engine
}

export function buildSandbox({ options, ...parts }: SandboxParts): Sandbox {
  const closing = new AbortController()
  let listening: Listening | undefined
  const url = () => listening?.url ?? 'http://sandbox.localhost'
  const { smtpUrl } = options
  const state = createState({
    ...parts,
    mailer: smtpUrl === undefined ? undefined : smtpMailer(smtpUrl),
    origin: url,
    subscriptions: options.subscriptions ?? [],
    secret: options.secret,
  })
  const { engine, journal } = state
  const recording = record(state, { options, seed: parts.seed })
  const { recorder, reset, restore, scenario } = recording
  const drain = () => settle(state)
  const targets = {
    ...engine,
    ...state,
    drain,
    reset,
    scenario,
    restore: (next: unknown) => replace(state, { next, restore }),
  }
  const answer = createApp({
    targets,
    feed: state.feed,
    journal,
    rateLimit: options.rateLimit,
    host: () => listening?.host,
    hosts: options.hosts ?? [],
    origin: url,
    closing: closing.signal,
  })
  const fetch = async (input: Request | URL | string, init?: RequestInit) => {
    if (closing.signal.aborted) throw new TypeError('the sandbox is closed')
    const request = input instanceof Request && !init ? input : new Request(input, init)
    const noted = recorder.note(request)
    return answer(request).finally(noted)
  }
  return {
    fetch,
    async drain() {
      recorder.add({ drain: true })
      await drain()
    },
    async listen(where) {
      const { serve } = await import('./listen.ts')
      listening = await serve(fetch, where)
      return listening
    },
    get url() {
      return url()
    },
    get baseUrl() {
      return `${url()}${apiPath}`
    },
    apiKey: 'key_acme',
    seed: parts.seed,
    get secret() {
      return state.secret()
    },
    act(id, actions, { force } = {}) {
      const steps = [actions].flat()
      const path = `${controlPath}/verifications/${id}/actions`
      const body = { actions: steps, ...(force !== undefined && { force }) }
      // As a request: what is refused is refused again, and the rest goes on.
      recorder.add({ request: { method: 'POST', path, body } })
      return actOn(state, id, { actions: steps, force })
    },
    clock: recordedClock(state.clock, recorder),
    faults: recordedFaults(engine.faults, recorder),
    deliveries: recordedDeliveries(engine.deliveries, recorder),
    reset,
    snapshot: state.snapshot,
    scenario,
    restore(next) {
      const fault = snapshotFault(next)
      if (fault)
        throw new WebhookError(
          'OPTION_INVALID',
          `the snapshot ${fault}: give one that snapshot() gave`,
        )
      restore(next)
    },
    async close() {
      closing.abort()
      await listening?.close()
      engine.deliveries.close()
      engine.clock.close()
      await journal.settled()
      parts.file?.close()
    },
  }
}

async function settle({ engine, world, journal }: SandboxState): Promise<void> {
  await engine.deliveries.drain()
  await world.outbox.drain()
  await journal.settled()
}

interface Wanted {
  readonly actions: Action | readonly Action[]
  readonly force: boolean | undefined
}

async function actOn(
  { world, journal }: SandboxState,
  id: string,
  { actions, force }: Wanted,
): Promise<AssembledVerification> {
  const row = world.verifications.get(id)
  if (!row) throw new WebhookError('VERIFICATION_UNKNOWN', `act: there is no verification ${id}`)
  const steps = [actions].flat().map(toStep)
  try {
    act(world, row, { steps, force })
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause
    throw new WebhookError('ILLEGAL_TRANSITION', `act: ${cause.message}`, { cause })
  }
  await journal.settled()
  return assemble(row)
}

interface Replacement {
  readonly next: unknown
  readonly restore: (next: Snapshot) => void
}

/** A snapshot from outside: what is none is refused, and what cannot be loaded leaves no trace. */
function replace(state: SandboxState, { next, restore }: Replacement): void {
  const refuse = (message: string) => invalid([{ field: '', message }], 'snapshot')
  const fault = snapshotFault(next)
  if (fault) throw refuse(fault)
  const before = state.snapshot()
  try {
    restore(next as Snapshot)
  } catch {
    restore(before)
    throw refuse('holds something that cannot be loaded')
  }
}
