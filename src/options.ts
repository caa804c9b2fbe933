// The options of a receiver, checked when it is created.

import { checkOptionNames } from './check.ts'
import type { Clock } from './clock.ts'
import { WebhookError } from './errors.ts'
import type { Arrival, Kept } from './inbox/entry.ts'
import type { Observe } from './observe.ts'
import type { RespondOption } from './outcome.ts'
import type { ParseOptions, SchemaMap } from './parse.ts'
import type { AssembledVerification, Client } from './protocol/resources.ts'
import type { VerifyOptions } from './verify.ts'

/** What a receiver asks of an inbox; `createInbox` makes one. */
export interface Keeper<Tx = unknown> {
  /** Resolves after the commit that holds the delivery; rejects when there was none. */
  keep(arrival: Arrival): Promise<Kept>
  /** Types `context.tx`; it is never there. */
  readonly '~tx'?: () => Tx
}

/** What `context.fetch()` asks of a client, for plain data; `createClient` makes one. */
export interface ResourceReader {
  readonly verifications: {
    get(id: string, options: { readonly signal: AbortSignal }): Promise<AssembledVerification>
  }
  readonly clients: {
    get(id: string, options: { readonly signal: AbortSignal }): Promise<Client>
  }
}

/** A client, or what gives that of a tenant: each reads its own records. */
export type ClientOption =
  | ResourceReader
  | ((tenant: string | undefined) => ResourceReader | undefined)

/** Options of `createReceiver`. */
export interface ReceiverOptions<Schemas extends SchemaMap = SchemaMap, Tx = unknown>
  extends Omit<VerifyOptions, 'now'>,
    Omit<ParseOptions, 'source' | 'schemas'> {
  /** Schemas by event name: they replace the built-in ones or add events of your own. */
  readonly schemas?: Schemas
  /** Keeps deliveries before they are acknowledged; a worker handles them then. */
  readonly inbox?: Keeper<Tx>
  /** Lets handlers read the current resource by `context.fetch()`. */
  readonly client?: ClientOption
  /** Milliseconds for each handler; default 10,000. */
  readonly handlerTimeout?: number
  /** The longest body in bytes; default 1 MiB. */
  readonly maxBytes?: number
  /** The most bytes of bodies held at a time; beyond it 503. Default 64 MiB. */
  readonly maxInFlightBytes?: number
  /** Overrides of the outcome table. */
  readonly respond?: RespondOption
  /** Sees every outcome and attempt; by default failures on our side become process warnings. */
  readonly observe?: Observe
  readonly now?: Clock
}

const names: readonly (keyof ReceiverOptions)[] = [
  'secret',
  'scheme',
  'envelope',
  'schemas',
  'validate',
  'legacy',
  'inbox',
  'client',
  'handlerTimeout',
  'maxBytes',
  'maxInFlightBytes',
  'respond',
  'observe',
  'now',
]

/**
 * Checks what no other room checks, and fills in the defaults.
 *
 * @throws WebhookError `OPTION_INVALID`, `INBOX_INVALID`
 */
export function checkedOptions(options: ReceiverOptions) {
  if (typeof options !== 'object' || options === null) {
    throw new WebhookError('OPTION_INVALID', 'createReceiver needs options, at least { secret }')
  }
  checkOptionNames('createReceiver', options, names)
  for (const name of ['observe', 'now'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function') {
      throw new WebhookError('OPTION_INVALID', `${name} is no function`)
    }
  }
  if (options.inbox !== undefined && typeof options.inbox?.keep !== 'function') {
    throw new WebhookError(
      'INBOX_INVALID',
      'inbox is no inbox: make it with createInbox({ store })',
    )
  }
  checkClient(options.client)
  const { maxBytes = 1024 ** 2, handlerTimeout = 10_000 } = options
  const { maxInFlightBytes = Math.max(64 * 1024 ** 2, maxBytes) } = options
  wholeNumber('maxBytes', maxBytes)
  wholeNumber('maxInFlightBytes', maxInFlightBytes, maxBytes)
  // setTimeout takes no more than 2^31 - 1 ms and would fire at once beyond it.
  wholeNumber('handlerTimeout', handlerTimeout, 1, 2 ** 31 - 1)
  return { maxBytes, maxInFlightBytes, handlerTimeout }
}

/** What reads nothing would be told to handlers as a resource that is gone. */
function checkClient(client: unknown): void {
  if (client === undefined || typeof client === 'function' || isReader(client)) return
  const isLate = typeof (client as { then?: unknown } | null)?.then === 'function'
  throw new WebhookError(
    'OPTION_INVALID',
    isLate
      ? 'client is a promise: await it, or give (tenant) => client'
      : 'client is none: give what createClient({ … }) made, or (tenant) => client',
  )
}

/** Tells what `context.fetch()` can read by. */
export function isReader(client: unknown): client is ResourceReader {
  if (typeof client !== 'object' || client === null) return false
  const { verifications, clients } = client as Partial<Record<string, { readonly get?: unknown }>>
  return [verifications, clients].every((one) => typeof one?.get === 'function')
}

function wholeNumber(name: string, value: number, least = 1, most = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new WebhookError(
    'OPTION_INVALID',
    `${name} is ${String(value)}: give a whole number from ${least} to ${most}`,
  )
}
