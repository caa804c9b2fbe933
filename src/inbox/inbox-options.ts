// The options of an inbox, checked when it is created.

import { WebhookError } from '../errors.ts'
import {
  checkChoice,
  checkFunction,
  checkOptionNames,
  checkWholeNumber,
  invalid,
  kindShown,
  shown,
} from '../foundation/check.ts'
import type { Clock } from '../foundation/clock.ts'
import type { EncryptionOptions } from './encryption.ts'
import type { RetentionDays } from './retention.ts'
import { createRetry, type Retry, type RetryOptions } from './retry.ts'
import type { InboxStore, StoreCapabilities } from './store.ts'

/** Options of `createInbox`. */
export interface InboxOptions<Tx = unknown> {
  /** `sqliteStore(file)`, `postgresStore(driver)`, `memoryStore()`, or a store you wrote. */
  readonly store: InboxStore<Tx>
  /** How often a failed entry runs again, and the waits between. */
  readonly retry?: RetryOptions
  /**
   * After a dead letter its entity continues, with `context.gap`, or waits (`block`).
   *
   * `continue` also releases entities that waited under `block`.
   *
   * @default 'continue'
   */
  readonly onDead?: 'continue' | 'block'
  /**
   * `body` deduplicates deliveries without an id by their bytes.
   *
   * @default 'id'
   */
  readonly dedupe?: 'id' | 'body'
  /**
   * Days until payloads and keys are erased.
   *
   * A dead entry that holds its lane stays until it is redriven or dismissed.
   */
  readonly retention?: Partial<RetentionDays>
  /** Encrypts payloads and kept headers at rest. */
  readonly encryption?: EncryptionOptions
  /** Guarantees that the store must give: `survives tx order shared erases`. */
  readonly needs?: Partial<Omit<StoreCapabilities, 'dedupeDays' | 'fairness'>>
  /**
   * Milliseconds for the store to keep a delivery, then 503.
   *
   * @default 2_000
   */
  readonly timeout?: number
  /**
   * Milliseconds until the claim of a dead worker lapses.
   *
   * @default 60_000
   */
  readonly lease?: number
  /**
   * A clock for tests.
   *
   * The standard clock counts the time in which the machine slept. Leases of a shared store always go
   * by the store's clock.
   */
  readonly now?: Clock
}

export interface InboxLimits {
  readonly retry: Retry
  readonly retention: RetentionDays
  readonly timeout: number
  readonly lease: number
  readonly dedupeBodies: boolean
}

const names = 'store retry onDead dedupe retention encryption needs timeout lease now'.split(' ')

/** The guarantees that can be needed, from the least to the most. */
const guarantees: readonly (readonly [keyof StoreCapabilities, readonly unknown[]])[] = [
  ['order', ['none', 'entity']],
  ['tx', [false, true]],
  ['shared', [false, true]],
  ['erases', ['unlinked', 'overwritten']],
  ['survives', ['nothing', 'restart', 'power-cut', 'failover']],
]

export function checkedInboxOptions(options: InboxOptions): InboxLimits {
  if (typeof options?.store?.insert !== 'function') {
    throw new WebhookError(
      'INBOX_INVALID',
      `createInbox expects a store, got ${kindShown(options?.store)}: pass createInbox({ store: ${storeFor(options?.store)} })`,
    )
  }
  checkOptionNames('createInbox', options, names)
  checkChoice('onDead', options.onDead, ['continue', 'block'])
  checkChoice('dedupe', options.dedupe, ['id', 'body'])
  checkFunction('now', options.now, '() => new Date()')
  checkParts(options)
  // At most ten minutes: five times a timeout and a worker's grace still fit into one timer.
  const { timeout = 2_000, lease = 60_000 } = options
  checkWholeNumber('timeout', timeout, { most: 600_000, unit: 'milliseconds' })
  checkWholeNumber('lease', lease, { most: 86_400_000, unit: 'milliseconds' })
  const retention = { done: 7, dead: 90, keys: 30, ...options.retention }
  for (const [name, days] of Object.entries(retention)) positive(`retention.${name}`, days)
  checkNeeds(options.store, options.needs ?? {}, retention.keys)
  const dedupeBodies = options.dedupe === 'body'
  const retry = createRetry(options.retry)
  return { retry, retention, timeout, lease, dedupeBodies }
}

function checkParts({ retry = {}, retention = {}, encryption, needs = {} }: InboxOptions): void {
  checkOptionNames('createInbox: retry', retry, ['attempts', 'delays', 'random'])
  checkOptionNames('createInbox: retention', retention, ['done', 'dead', 'keys'])
  if (encryption !== undefined) {
    const parts = ['key', 'previous', 'acceptUnencrypted']
    checkOptionNames('createInbox: encryption', encryption, parts)
  }
  checkOptionNames(
    'createInbox: needs',
    needs,
    guarantees.map(([name]) => name),
  )
  for (const [name, levels] of guarantees) {
    checkChoice(`needs.${name}`, (needs as Partial<StoreCapabilities>)[name], levels.toReversed())
  }
}

/** Suggests the call that makes a store of the file or address that was passed instead. */
function storeFor(given: unknown): string {
  const text = typeof given === 'string' ? given : ''
  if (/^postgres(ql)?:/.test(text)) return 'postgresStore(fromPg(pool))'
  // Any other text may be a secret in the wrong place.
  const file = /^[\w./\\-]{1,60}\.(?:db|sqlite3?)$/i.test(text) ? text : 'inbox.db'
  return `sqliteStore('${file}')`
}

function checkNeeds(store: InboxStore, needs: Partial<StoreCapabilities>, keys: number): void {
  const { capabilities: has } = store
  const unmet = guarantees.flatMap(([name, levels]) => {
    const need = needs[name]
    if (need === undefined || levels.indexOf(has[name]) >= levels.indexOf(need)) return []
    return [`${name}: ${typeof need === 'string' ? `'${need}'` : need}`]
  })
  if (keys > has.dedupeDays) {
    unmet.push(`retention.keys: ${keys} (it remembers ${has.dedupeDays} days)`)
  }
  if (unmet.length === 0) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the ${store.name} store does not guarantee ${unmet.join(', ')}; use another store, or change \`needs\``,
  )
}

function positive(name: string, value: number): void {
  if (Number.isFinite(value) && value > 0) return
  throw invalid(`${name} must be a number above 0, got ${shown(value)}`)
}
