// Reads the current resource of an event, so that late and reordered events do no harm. The handlers of
// a delivery share one request, and each gets a copy of the answer.

import type { VerifiedDelivery } from '../delivery.ts'
import { WebhookError } from '../errors.ts'
import { orAborted } from '../foundation/abortable.ts'
import { ignoreRejection } from '../host/promises.ts'
import { type ClientOption, isReader } from '../options.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import type { Decisions } from '../protocol/vendor.ts'

/** Milliseconds after its begin for which the other handlers of a delivery share a read. */
const maxAge = 1000

/** A handler's question for a resource. */
export interface Asking {
  readonly signal: AbortSignal
  readonly delivery: VerifiedDelivery
}

interface Read {
  readonly key: string
  /** The time of `performance.now()` at its begin. */
  readonly began: number
  readonly work: Promise<unknown>
  /** The signal of the handler that asked first; handlers run in turn. */
  readonly signal: AbortSignal
}

/** Tells whether an event names a resource that a client reads. */
export function namesResource({ entity }: WebhookEvent): boolean {
  return Boolean(entity?.id) && (entity?.type === 'verification' || entity?.type === 'client')
}

/** Reads the resources that events name. */
export class ResourceReads {
  readonly #client: ClientOption | undefined
  /** Reads a vendor's own records. */
  readonly #decisions: Decisions | undefined
  /** The latest read of each attempt at a delivery: it began after the delivery arrived. */
  readonly #reads = new WeakMap<VerifiedDelivery, Read>()

  constructor(client: ClientOption | undefined, decisions: Decisions | undefined) {
    this.#client = client
    this.#decisions = decisions
  }

  get hasClient(): boolean {
    return this.#client !== undefined || this.#decisions?.hasApi === true
  }

  /**
   * The current resource that an event names, a copy for each handler; null when it is gone or the
   * event names none.
   *
   * @throws WebhookError `CLIENT_MISSING`, `OPTION_INVALID`, what the client throws, the signal's reason
   */
  async current(event: WebhookEvent, asking: Asking): Promise<unknown> {
    const { signal } = asking
    const { type, id } = event.entity ?? {}
    const get = this.#decisions?.hasApi
      ? () => this.#decisions?.record(event, signal)
      : this.#getter(event, asking)
    if (!get) return null
    signal.throwIfAborted()
    const key = JSON.stringify([type, id])
    const resource = await orAborted(this.#read(key, asking, get), signal)
    // A copy: handlers may change it.
    return type === 'client' && isDeleted(resource) ? null : structuredClone(resource)
  }

  /** The request of the client; undefined if the event names no resource. */
  #getter({ entity }: WebhookEvent, { signal, delivery }: Asking) {
    const { tenant } = delivery
    const client = typeof this.#client === 'function' ? this.#client(tenant) : this.#client
    if (!client) {
      const what =
        'context.fetch() needs a client: createReceiver({ secret, client: createClient({ … }) })'
      throw clientError('CLIENT_MISSING', what, tenant)
    }
    if (!isReader(client)) {
      ignoreRejection(client)
      const what = 'the client function must return an object from createClient(), not a promise'
      throw clientError('OPTION_INVALID', what, tenant)
    }
    const { type, id } = entity ?? {}
    const readers = { verification: client.verifications, client: client.clients }
    const reader = type && Object.hasOwn(readers, type) ? readers[type] : undefined
    return reader && id ? () => reader.get(id, { signal }) : undefined
  }

  #read(key: string, { signal, delivery }: Asking, get: () => unknown): Promise<unknown> {
    const last = this.#reads.get(delivery)
    const began = performance.now()
    const isShared = last?.key === key && !last.signal.aborted && began - last.began < maxAge
    if (isShared) return last.work
    const work = (async () => get())().then((found) => found ?? null, nullIfMissing)
    this.#reads.set(delivery, { key, began, work, signal })
    // The next handler asks again.
    work.catch(() => this.#reads.delete(delivery))
    return work
  }
}

function clientError(
  code: 'CLIENT_MISSING' | 'OPTION_INVALID',
  what: string,
  tenant: string | undefined,
): WebhookError {
  return new WebhookError(code, tenant === undefined ? what : `${what}, for the tenant ${tenant}`)
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
