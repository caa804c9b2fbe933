// The current truth behind an event: late and reordered events do no harm to who asks for it.
// Handlers that ask for the same resource at the same time share one request, never its answer.

import type { VerifiedDelivery } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { orAborted } from '../foundation/abortable.ts'
import { type Clock, createAgeClock, systemClock } from '../foundation/clock.ts'
import { unawaited } from '../foundation/unawaited.ts'
import { type ClientOption, isReader } from '../options.ts'
import type { WebhookEvent } from '../protocol/events.ts'

/** Milliseconds after its begin for which a read is shared by those that ask once it has ended. */
const shared = 1000
/** The same while it runs: one that takes longer may have been frozen with its process. */
const running = 60_000

/** Who asks, and for how long. */
export interface Asking {
  readonly signal: AbortSignal
  /** A read that began before the event came may not know of it. */
  readonly delivery: VerifiedDelivery
}

interface Read {
  /** Its place among the arrivals and reads of this process. */
  readonly order: number
  /** By the clock of deliveries. */
  readonly began: number
  /** By the clock of ages. */
  readonly at: number
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
  /** The one that deliveries are stamped by. */
  readonly #now: Clock
  /** Ages are measured by it: no correction moves it, and a frozen process ages too. */
  readonly #age: Clock
  readonly #reads = new Map<string, Read>()
  /** Places among the arrivals and reads of this process. */
  readonly #arrivals = new WeakMap<VerifiedDelivery, number>()
  #order = 0

  constructor(client: ClientOption | undefined, now: Clock | undefined) {
    this.#client = client
    this.#now = now ?? systemClock
    this.#age = now ?? createAgeClock()
  }

  get hasClient(): boolean {
    return this.#client !== undefined
  }

  /** A delivery comes now: a clock may stand still between two of them, their order does not. */
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
    // A promise of one, say: read by that, everything would be gone.
    if (!isReader(client)) {
      unawaited(client)
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
    // Handlers must not see what another one does to it.
    return type === 'client' && isDeleted(resource) ? null : structuredClone(resource)
  }

  /** A read that is sure to know of the event: it began after the event came. */
  #fresh(key: string, { delivery }: Asking): Read | undefined {
    const arrival = this.#arrivalOf(delivery)
    const read = this.#reads.get(key)
    if (!read || read.stop.signal.aborted || read.order < arrival) return undefined
    // A clock that was set back orders nothing.
    if (this.#now().getTime() < read.began) return undefined
    return this.#isRecent(read, read.pending ? running : shared) ? read : undefined
  }

  /**
   * A delivery from the inbox gets its place when it first asks: it may have come to another machine,
   * whose clock tells nothing of what was read here.
   */
  #arrivalOf(delivery: VerifiedDelivery): number {
    const order = this.#arrivals.get(delivery) ?? ++this.#order
    this.#arrivals.set(delivery, order)
    return order
  }

  #begin(key: string, get: (signal: AbortSignal) => Promise<unknown>): Read {
    this.#dropExpired()
    const stop = new AbortController()
    const began = this.#now().getTime()
    const at = this.#age().getTime()
    const work = (async () => get(stop.signal))().then((found) => found ?? null, nullIfMissing)
    const order = ++this.#order
    const read: Read = { order, began, at, work, stop, waiting: 0, pending: true }
    this.#reads.set(key, read)
    const failed = () => {
      if (this.#reads.get(key) === read) this.#reads.delete(key)
    }
    work.catch(failed).finally(() => {
      read.pending = false
    })
    return read
  }

  #isRecent({ at }: Read, limit: number): boolean {
    const age = this.#age().getTime() - at
    return age >= 0 && age < limit
  }

  #dropExpired(): void {
    for (const [key, read] of this.#reads) {
      if (!read.pending && !this.#isRecent(read, shared)) this.#reads.delete(key)
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

/** Each asks with a signal of its own; the request ends when nobody waits for it any more. */
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

/** A client that was soft-deleted stays readable (section 2.4); to a handler it is gone. */
function isDeleted(client: unknown): boolean {
  return (client as { readonly active?: unknown } | null)?.active === false
}

/** The page of a proxy or of a wrong address is not an answer of the service. */
function nullIfMissing(error: unknown): null {
  const { status, byService } = (error ?? {}) as {
    readonly [Key in 'status' | 'byService']?: unknown
  }
  if (status === 404 && byService !== false) return null
  throw error
}
