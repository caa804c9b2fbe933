// Puts a sandbox together from an engine: the state, everything that answers requests, and the
// port. What requests do is decided elsewhere.
import { WebhookError } from '../errors.ts'
import type { AssembledVerification } from '../protocol/resources.ts'
import { apiPath } from './api.ts'
import { createApp } from './app.ts'
import { asMisuse, checkedArgument } from './argument-error.ts'
import { assemble } from './assemble.ts'
import { controlPath } from './control.ts'
import { toStep } from './control-handlers.ts'
import { createState, type SandboxState } from './core.ts'
import type { DataFile } from './data-file.ts'
import { refuseFromWithin } from './deliveries/from-within.ts'
import { HttpError, invalid } from './http-error.ts'
import type { Listening, ListenOptions } from './listen.ts'
import { smtpMailer } from './mailer.ts'
import { managedSubscriptions } from './managed-subscriptions.ts'
import type { SandboxOptions } from './options.ts'
import type { Engine, EngineChange } from './ports.ts'
import {
  recordedClock,
  recordedDeliveries,
  recordedFaults,
  type SandboxClock,
  type SandboxDeliveries,
  type SandboxFaults,
} from './recorded-calls.ts'
import type { Recorder } from './recorder.ts'
import { record } from './recording.ts'
import { type SavedState, snapshotFaults } from './saved-state.ts'
import { actionsBody } from './schemas/control-schemas.ts'
import type { Scenario } from './schemas/scenario.ts'
import type { Told } from './schemas/snapshot.ts'
import type { Snapshot } from './snapshot.ts'
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
  /** A key of the Professional organization. */
  readonly apiKey: string
  /** The secret of subscriptions that name none. */
  readonly secret: string
  /**
   * Acts on a verification as its subject, its operator or the clock: all actions, or none.
   *
   * @throws WebhookError `VERIFICATION_UNKNOWN`, `ILLEGAL_TRANSITION`, `OPTION_INVALID`
   */
  act(
    id: string,
    actions: Action | readonly Action[],
    options?: { readonly force?: boolean },
  ): Promise<AssembledVerification>
  readonly clock: SandboxClock
  readonly faults: SandboxFaults
  readonly deliveries: SandboxDeliveries
  /**
   * Resolves when no delivery and no mail is due, or when the state is reset or restored.
   *
   * @throws WebhookError `CALLED_FROM_DELIVERY` when a delivery waits for who calls it.
   */
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
   * @throws WebhookError `SCENARIO_FAILED` after more than 10,000 actions or 16 MiB of bodies.
   */
  scenario(): Scenario
  /** @throws WebhookError `OPTION_INVALID` with every field in which it is no snapshot. */
  restore(snapshot: Snapshot): void
  close(): Promise<void>
}

export interface SandboxParts {
  readonly options: SandboxOptions
  readonly file: DataFile | undefined
  readonly saved: SavedState | undefined
  readonly told: Told
  readonly makeEngine: (onChange: (change: EngineChange) => void) => Engine
}

export function buildSandbox({ options, ...parts }: SandboxParts): Sandbox {
  const closing = new AbortController()
  const listening: Listening[] = []
  const url = () => listening.at(-1)?.url ?? 'http://sandbox.localhost'
  const { smtpUrl } = options
  const state = createState({
    ...parts,
    mailer: smtpUrl ? smtpMailer(smtpUrl) : undefined,
    origin: url,
    subscriptions: options.subscriptions ?? [],
  })
  const { engine, world, journal } = state
  const { recorder, reset, restore, scenario } = record(state, options)
  const subscriptions = managedSubscriptions(engine.deliveries.subscriptions, {
    secret: state.secret,
    hasOrganization: (id) => world.organizations.get(id) !== undefined,
  })
  const drain = () => settle(state)
  const replace = replacement(state, restore)
  const answer = createApp({
    targets: { ...engine, ...state, subscriptions, drain, reset, scenario, restore: replace },
    feed: state.feed,
    journal,
    rateLimit: options.rateLimit,
    host: () => listening.at(-1)?.host,
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
  const end = async () => {
    closing.abort()
    await Promise.all(listening.map((one) => one.close()))
    engine.deliveries.close()
    engine.clock.close()
    await journal.settled().finally(() => parts.file?.close())
  }
  let ended: Promise<void> | undefined
  return {
    fetch,
    async drain() {
      refuseFromWithin('drain()')
      recorder.add({ drain: true })
      await drain()
    },
    async listen(where) {
      const { serve } = await import('./listen.ts')
      const one = await serve(fetch, where)
      listening.push(one)
      return one
    },
    get url() {
      return url()
    },
    get baseUrl() {
      return `${url()}${apiPath}`
    },
    apiKey: 'key_acme',
    get seed() {
      return engine.random.seed
    },
    get secret() {
      return state.secret()
    },
    act: (id, actions, { force } = {}) => actOn({ state, recorder }, id, { actions, force }),
    clock: recordedClock(state.clock, recorder),
    faults: recordedFaults(state.faults, recorder),
    deliveries: recordedDeliveries({ ...engine.deliveries, subscriptions }, recorder),
    reset,
    snapshot: state.snapshot,
    scenario,
    restore(next) {
      try {
        replace(next)
      } catch (error) {
        throw asMisuse('restore: the snapshot', error)
      }
    },
    close() {
      ended ??= end()
      return ended
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

interface Acting {
  readonly state: SandboxState
  readonly recorder: Recorder
}

async function actOn(
  { state: { world, journal }, recorder }: Acting,
  id: string,
  { actions, force }: Wanted,
): Promise<AssembledVerification> {
  const body = { actions: [actions].flat(), ...(force !== undefined && { force }) }
  const read = checkedArgument('act', actionsBody, body)
  const row = world.verifications.get(id)
  if (!row) throw new WebhookError('VERIFICATION_UNKNOWN', `act: there is no verification ${id}`)
  // As a request: what is refused is refused again, and the rest goes on.
  const path = `${controlPath}/verifications/${id}/actions`
  recorder.add({ request: { method: 'POST', path, body } })
  try {
    act(world, row, { steps: read.actions.map(toStep), force })
  } catch (cause) {
    if (!(cause instanceof HttpError)) throw cause
    throw new WebhookError('ILLEGAL_TRANSITION', `act: ${cause.message}`, { cause })
  }
  await journal.settled()
  return assemble(row)
}

/**
 * Restores a snapshot from outside: it is checked whole before anything of it is taken, and what
 * cannot be loaded all the same leaves no trace.
 */
function replacement(state: SandboxState, restore: (next: Snapshot) => void) {
  return (next: unknown): void => {
    const wrong = snapshotFaults(next)
    if (wrong.length > 0) throw invalid(wrong, 'snapshot')
    const before = state.snapshot()
    try {
      restore(next as Snapshot)
    } catch {
      restore(before)
      const message = 'holds something that cannot be loaded'
      throw invalid([{ field: '', message }], 'snapshot')
    }
  }
}
