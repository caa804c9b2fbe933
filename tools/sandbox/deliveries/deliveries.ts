// Sends deliveries to their subscriptions: in the order of events, a few at a time, again after a
// failure, until the retries are spent. Every change is recorded before anything else happens.
import type { Fetch } from '../../../src/client/attempt.ts'
import { readRetryAfter, systemClock } from '../../../src/foundation/clock.ts'
import { defined } from '../../../src/foundation/defined.ts'
import type { Vendor } from '../../../src/protocol/vendor.ts'
import { isPublicKey } from '../../../src/signature/hmac/hmac.ts'
import { checked } from '../exchange.ts'
import type { FaultRules } from '../faults.ts'
import { profile } from '../profile.ts'
import {
  type Attempt,
  type DeliveryFilter,
  type DeliveryRow,
  type DeliverySummary,
  deliveryFilter,
  type SandboxDelivery,
} from '../schemas/deliveries.ts'
import type { Snapshot, SubscriptionRow } from '../schemas/snapshot.ts'
import { signingSecret } from '../vendor.ts'
import { attempt, signed } from './attempt.ts'
import { planDeliveries, type ResourceEvent } from './plan.ts'
import { DueQueue } from './queue.ts'
import { Subscriptions, type SubscriptionsOptions, signingSecrets } from './subscriptions.ts'

export interface DeliveriesOptions extends Omit<SubscriptionsOptions, 'onChange'> {
  readonly faults: FaultRules
  readonly send: Fetch
  readonly timeoutMs: number
  readonly vendor: Vendor | undefined
  readonly onDelivery: (row: DeliveryRow) => void
  /** Called with a subscription that was made or changed; undefined if it was removed. */
  readonly onSubscription: (id: string, row: SubscriptionRow | undefined) => void
}

export class Deliveries {
  readonly subscriptions: Subscriptions
  readonly #options: DeliveriesOptions
  readonly #rows = new Map<string, DeliveryRow>()
  readonly #scheduled = new Map<string, () => void>()
  /** The reordered delivery of each subscription that waits for the next one to pass it. */
  readonly #waiting = new Map<string, string>()
  #queue = this.#newQueue()

  constructor(options: DeliveriesOptions) {
    this.#options = options
    const { clock, random, secret, hasOrganization, onSubscription } = options
    const onChange: DeliveriesOptions['onSubscription'] = (id, row) => {
      onSubscription(id, row)
      for (const one of this.#rows.values()) {
        if (one.subscriptionId === id) this.#reconsider(one, row)
      }
    }
    this.subscriptions = new Subscriptions({ clock, random, secret, hasOrganization, onChange })
    // While the clock moves, a reordered delivery waits for its time or for the delivery that
    // passes it.
    clock.settleWith(() => this.#queue.idle())
  }

  /** Keeps the deliveries of an occurrence, of one subscription if `only` names it; sends them later. */
  emit(occurrence: ResourceEvent, only?: string): void {
    const { clock, random } = this.#options
    const ids = new Map<string, string>()
    const context = {
      ...this.#options,
      now: clock.now(),
      eventId(name: string) {
        const id = ids.get(name) ?? `evt_${random.uuid()}`
        ids.set(name, id)
        return id
      },
      waiting: this.#waiting,
    }
    for (const subscription of this.subscriptions.rows()) {
      const owner = subscription.organizationId
      if (only !== undefined && only !== subscription.id) continue
      if (owner !== null && owner !== occurrence.organizationId) continue
      for (const row of planDeliveries(subscription, occurrence, context)) this.#put(row)
    }
  }

  /** Newest first, without bytes. */
  list(filter: DeliveryFilter = {}): readonly DeliverySummary[] {
    return this.#matching(filter).reverse().map(summary)
  }

  /** A delivery with the exact bytes of every attempt. */
  get(id: string): SandboxDelivery | undefined {
    const row = this.#rows.get(id)
    return row && details(row)
  }

  /** Sends a delivery again; undefined if it or its subscription is gone. */
  resend(id: string): SandboxDelivery | undefined {
    const row = this.#rows.get(id)
    const again = row && this.#sendAgain(row)
    return again && details(again)
  }

  /** Sends again what fits the filter; returns how many. */
  resendAll(filter: DeliveryFilter = {}): number {
    return this.#matching(filter).filter((row) => this.#sendAgain(row)).length
  }

  /** Resolves when nothing is due, or when another state is loaded. */
  async flush(): Promise<void> {
    const queue = this.#queue
    do {
      await queue.idle()
      if (queue !== this.#queue) return
      // If nothing follows a reordered delivery, it is sent at the end.
      for (const id of [...this.#waiting.values()]) this.#release(id)
    } while (queue.busy)
  }

  dump(): Snapshot['webhooks'] {
    return { subscriptions: this.subscriptions.rows(), deliveries: [...this.#rows.values()] }
  }

  load({ subscriptions, deliveries }: Snapshot['webhooks']): void {
    this.#queue.end('another state was loaded')
    this.#queue = this.#newQueue()
    for (const cancel of this.#scheduled.values()) cancel()
    for (const map of [this.#scheduled, this.#waiting, this.#rows]) map.clear()
    this.subscriptions.load(subscriptions)
    for (const row of deliveries) this.#rows.set(row.id, row)
    for (const row of deliveries) this.#plan(row)
  }

  close(): void {
    this.#queue.end('the sandbox is closing')
    for (const cancel of this.#scheduled.values()) cancel()
  }

  #newQueue(): DueQueue {
    return new DueQueue((id, ended) => this.#deliver(id, ended))
  }

  #matching(filter: DeliveryFilter): DeliveryRow[] {
    const { subscriptionId, event, status } = checked(deliveryFilter, filter, 'query')
    return [...this.#rows.values()].filter(
      (row) =>
        (subscriptionId === undefined || subscriptionId === row.subscriptionId) &&
        (event === undefined || event === row.event || event === row.canonicalEvent) &&
        (status === undefined || status === row.status),
    )
  }

  /** Keeps a row, and puts it where it waits. */
  #put(row: DeliveryRow): void {
    this.#rows.set(row.id, row)
    this.#options.onDelivery(row)
    this.#plan(row)
  }

  /** A paused subscription holds its pending deliveries, a removed subscription loses them. */
  #reconsider(row: DeliveryRow, subscription: SubscriptionRow | undefined): void {
    if (row.status !== 'pending' && row.status !== 'held') return
    if (subscription && subscription.active === (row.status === 'pending')) return
    this.#unplan(row)
    if (subscription) this.#put({ ...row, status: subscription.active ? 'pending' : 'held' })
    else this.#put({ ...row, status: 'dropped', nextAttemptAt: null })
  }

  #unplan({ id, subscriptionId }: DeliveryRow): void {
    this.#scheduled.get(id)?.()
    this.#scheduled.delete(id)
    if (this.#waiting.get(subscriptionId) === id) this.#waiting.delete(subscriptionId)
    this.#queue.remove(id)
  }

  /** Puts a pending delivery into the queue if it is due, else on the clock. */
  #plan(row: DeliveryRow): void {
    const { id, subscriptionId, nextAttemptAt, status } = row
    if (status !== 'pending' || nextAttemptAt === null) return
    const waiting = this.#waiting
    if (row.after) waiting.set(subscriptionId, id)
    // They swap in pairs: the next reordered delivery waits for one of its own.
    if (waiting.get(subscriptionId) === row.passes) waiting.delete(subscriptionId)
    // Nothing holds the deliveries of a storm back.
    const lane = row.fault === 'storm' ? id : `${subscriptionId} ${row.resourceId}`
    const makeDue = () => {
      this.#unplan(row)
      this.#queue.add({ id, subscriptionId, lane })
    }
    const { clock } = this.#options
    const at = new Date(nextAttemptAt)
    if (at.getTime() <= clock.now().getTime()) makeDue()
    else this.#scheduled.set(id, clock.schedule(at, makeDue))
  }

  /** Releases a reordered delivery: the next one has passed it, or none will come. */
  #release(id: string): void {
    const row = this.#rows.get(id)
    if (row?.status !== 'pending' || !row.after) return
    const { after: _, ...free } = row
    this.#unplan(row)
    this.#put({ ...free, nextAttemptAt: this.#options.clock.now().toISOString() })
  }

  async #deliver(id: string, ended: AbortSignal): Promise<void> {
    const { clock, faults, vendor, secret } = this.#options
    const scheme = vendor?.scheme ?? profile.scheme
    const row = this.#rows.get(id)
    const subscription = row && this.subscriptions.row(row.subscriptionId)
    if (!subscription) return
    const at = clock.now()
    const now = () => at
    // A vendor has one key pair, whatever the secrets of its subscriptions are.
    const texts = isPublicKey(scheme.algorithm) ? [secret()] : signingSecrets(subscription, at)
    const secrets = texts.map((one) => signingSecret(one, scheme))
    const { body, signature } = await signed(row, secrets, { scheme, now })
    if (ended.aborted) return
    const struck = faults.forDelivery('attempt', {
      subscriptionId: subscription.id,
      event: row.canonicalEvent,
      die: `attempt ${row.id} ${row.attempts.length}`,
    })
    const { url } = subscription
    const request = { url, body, signature, scheme, fault: struck?.kind, now, ended }
    const made = await attempt({ ...this.#options, ...request })
    // An attempt interrupted by close, reset or restore does not count.
    const current = ended.aborted ? undefined : this.#rows.get(row.id)
    if (current) this.#settle({ ...current, signature }, made)
  }

  #settle({ after: _, passes, ...row }: DeliveryRow, made: Attempt): void {
    const attempts = [...row.attempts, made]
    const { vendor, clock } = this.#options
    const succeeded = isSuccess(made, vendor)
    const wait = succeeded ? undefined : waitAfter(attempts, vendor)
    if (wait === undefined) {
      const status = succeeded ? 'delivered' : 'failed'
      this.#put({ ...row, attempts, status, nextAttemptAt: null })
    } else {
      const next = clock.now().getTime() + wait * 1000
      this.#put({ ...row, attempts, nextAttemptAt: new Date(next).toISOString() })
    }
    if (passes !== undefined) this.#release(passes)
  }

  /** Undefined if its subscription is gone; held while the subscription is paused. */
  #sendAgain(row: DeliveryRow): DeliveryRow | undefined {
    const subscription = this.subscriptions.row(row.subscriptionId)
    if (!subscription) return undefined
    this.#unplan(row)
    // A delivery that is sent again by hand is signed with the current secrets.
    const { signature: _, after: __, ...fresh } = row
    const next: DeliveryRow = {
      ...fresh,
      status: subscription.active ? 'pending' : 'held',
      nextAttemptAt: this.#options.clock.now().toISOString(),
    }
    this.#put(next)
    return next
  }
}

/** Tells whether an answer ends a delivery; for some vendors only 200 does. */
function isSuccess({ response }: Attempt, vendor: Vendor | undefined): boolean {
  const status = response?.status ?? 0
  return vendor?.delivery.success === 200 ? status === 200 : status >= 200 && status < 300
}

/** Seconds until the next attempt, which the answer can delay; undefined if the retries are spent. */
function waitAfter(attempts: readonly Attempt[], vendor: Vendor | undefined): number | undefined {
  const { retryDelaysSeconds, retryAfterMaxSeconds } = profile.delivery
  const ofVendor = vendor?.delivery.retries?.map((milliseconds) => milliseconds / 1000)
  const backoff = (ofVendor ?? retryDelaysSeconds)[attempts.length - 1]
  if (backoff === undefined) return undefined
  const headers = new Headers(attempts.at(-1)?.response?.headers as [string, string][] | undefined)
  // The receiver does not know the sandbox's clock.
  const asked = (readRetryAfter(headers, systemClock()) ?? 0) / 1000
  return Math.max(backoff, Math.min(asked, retryAfterMaxSeconds))
}

/** A delivery without its bytes and without measured times. */
function summary({ body: _, signature: __, ...row }: DeliveryRow): DeliverySummary {
  const attempts = row.attempts.map(({ request: _, durationMs: __, response, ...rest }) =>
    defined({ ...rest, status: response?.status }),
  )
  return { ...row, attempts }
}

/** A delivery as a snapshot holds it: measured times would make equal runs differ. */
export function unmeasured(row: DeliveryRow): DeliveryRow {
  return { ...row, attempts: row.attempts.map(({ durationMs: _, ...rest }) => rest) }
}

export function details({ signature: _, ...row }: DeliveryRow): SandboxDelivery {
  return row
}
