// Reads the current resource of an event, so that late and reordered events do no harm. Handlers that
// ask for the same resource at the same time share one request, and each gets a copy of the answer.

import type { VerifiedDelivery } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { orAborted } from '../foundation/abortable.ts'
import { type Clock, createAgeClock } from '../foundation/clock.ts'
import { ignoreRejection } from '../host/promises.ts'
import { type ClientOption, isReader } from '../options.ts'
import type { WebhookEvent } from '../protocol/events.ts'

/** Milliseconds after its begin for which a read that has ended is shared. */
const maxAge = 1000

/** A handler's question for a resource. */
export interface Asking {
  readonly signal: AbortSignal
  readonly delivery: VerifiedDelivery
}

interface Read {
  /** Its number among the arrivals and reads of this process. */
  readonly order: number
  readonly began: number
  readonly work: Promise<unknown>
  readonly stop: AbortController
  waiting: number
  pending: boolean
}

/** Whether an event names a resource that a client reads. */
export function namesResource({ entity }: WebhookEvent): boolean {
  return Boolean(entity?.id) && (entity?.type === 'verification' || entity?.type === 'client')
}

/** Reads the resources that events name. */
export class ResourceReads {
  readonly #client: ClientOption | undefined
  readonly #now: Clock
  readonly #reads = new Map<string, Read>()
  /** The numbers of deliveries among the arrivals and reads of this process. */
  readonly #arrivals = new WeakMap<VerifiedDelivery, number>()
  #order = 0

  constructor(client: ClientOption | undefined, now: Clock | undefined) {
    this.#client = client
    this.#now = now ?? createAgeClock()
  }

  get hasClient(): boolean {
    return this.#client !== undefined
  }

  /** Numbers a delivery that arrives now: a clock may stand still between two deliveries. */
  arriving(): (delivery: VerifiedDelivery) => VerifiedDelivery {
    if (!this.#client) return (delivery) => delivery
    const order = ++this.#order
    return (delivery) => {
      this.#arrivals.set(delivery, order)
      return delivery
    }
  }

  /**
   * The resource that an event names as it is now, a copy for each that asks; null when it is gone
   * or the event names none.
   *
   * @throws WebhookError `CLIENT_MISSING`, `OPTION_INVALID`, what the client throws, the signal's reason
   */
  async current(event: WebhookEvent, asking: Asking): Promise<unknown> {
    const { tenant } = asking.delivery
    const client = typeof this.#client === 'function' ? this.#client(tenant) : this.#client
    if (!client) throw missing(tenant)
    if (!isReader(client)) {
      ignoreRejection(client)
      throw noClient(tenant)
    }
    const { type, id } = event.entity ?? {}
    const get = { verification: client.verifications, client: client.clients }
    const reader = type && Object.hasOwn(get, type) ? get[type] : undefined
    if (!reader || !id) return null
    asking.signal.throwIfAborted()
    const key = JSON.stringify([type, id, tenant])
    const read =
      this.#fresh(key, asking) ?? this.#begin(key, (signal) => reader.get(id, { signal }))
    const resource = await waitFor(read, asking.signal)
    // A copy: handlers may change it.
    return type === 'client' && isDeleted(resource) ? null : structuredClone(resource)
  }

  /** Returns a read that began after the delivery arrived, so that its answer includes the event. */
  #fresh(key: string, { delivery }: Asking): Read | undefined {
    const arrival = this.#arrivalOf(delivery)
    const read = this.#reads.get(key)
    if (!read || read.stop.signal.aborted || read.order < arrival) return undefined
    return read.pending || this.#isRecent(read) ? read : undefined
  }

  /** Numbers a delivery from the inbox when it first asks: another machine may have received it. */
  #arrivalOf(delivery: VerifiedDelivery): number {
    const order = this.#arrivals.get(delivery) ?? ++this.#order
    this.#arrivals.set(delivery, order)
    return order
  }

  #begin(key: string, get: (signal: AbortSignal) => Promise<unknown>): Read {
    this.#dropExpired()
    const stop = new AbortController()
    const began = this.#now().getTime()
    const work = (async () => get(stop.signal))().then((found) => found ?? null, nullIfMissing)
    const order = ++this.#order
    const read: Read = { order, began, work, stop, waiting: 0, pending: true }
    this.#reads.set(key, read)
    const failed = () => {
      if (this.#reads.get(key) === read) this.#reads.delete(key)
    }
    work.catch(failed).finally(() => {
      read.pending = false
    })
    return read
  }

  #isRecent({ began }: Read): boolean {
    const age = this.#now().getTime() - began
    return age >= 0 && age < maxAge
  }

  #dropExpired(): void {
    for (const [key, read] of this.#reads) {
      if (!read.pending && !this.#isRecent(read)) this.#reads.delete(key)
    }
  }
}

function missing(tenant: string | undefined): WebhookError {
  const whose = tenant === undefined ? '' : ` for the tenant ${tenant}`
  return new WebhookError(
    'CLIENT_MISSING',
    `context.fetch() needs a client${whose}: createReceiver({ secret, client: createClient({ … }) })`,
  )
}

function noClient(tenant: string | undefined): WebhookError {
  const whose = tenant === undefined ? '' : ` for the tenant ${tenant}`
  return new WebhookError(
    'OPTION_INVALID',
    `the client function must return an object from createClient()${whose}, and no promise`,
  )
}

/** Waits with the handler's signal; the request is aborted once no handler waits for it. */
async function waitFor(read: Read, signal: AbortSignal): Promise<unknown> {
  read.waiting += 1
  let isWaiting = true
  const leave = () => {
    if (!isWaiting) return
    isWaiting = false
    read.waiting -= 1
    if (read.waiting === 0 && read.pending) read.stop.abort(signal.reason)
  }
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await orAborted(read.work, signal)
  } finally {
    signal.removeEventListener('abort', leave)
    leave()
  }
}

/** A soft-deleted client stays readable (section 2.4); a handler gets null. */
function isDeleted(client: unknown): boolean {
  return (client as { readonly active?: unknown } | null)?.active === false
}

/** Only the service's own 404 says that a resource is gone, not the page of a proxy. */
function nullIfMissing(error: unknown): null {
  const { status, byService } = (error ?? {}) as {
    readonly [Key in 'status' | 'byService']?: unknown
  }
  if (status === 404 && byService !== false) return null
  throw error
}
