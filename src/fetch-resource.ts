// The current truth behind an event: late and reordered events do no harm to who asks for it.
// Handlers that ask for the same resource at the same time share one request.
import type { Clock } from './clock.ts'
import { WebhookError } from './errors.ts'
import type { ResourceReader } from './options.ts'
import type { WebhookEvent } from './protocol/events.ts'

/** Milliseconds for which a read is shared by those that ask after it ended. */
const shared = 1000

/** Who asks, and for how long. */
export interface Asking {
  readonly signal: AbortSignal
  /** When the event came: a read that began before may not know of it. */
  readonly receivedAt: Date
}

interface Read {
  readonly began: number
  readonly work: Promise<unknown>
  readonly stop: AbortController
  waiting: number
  pending: boolean
}

/** Reads the resources that events name. */
export class ResourceReads {
  readonly #client: ResourceReader | undefined
  readonly #now: Clock
  readonly #reads = new Map<string, Read>()

  constructor(client: ResourceReader | undefined, now: Clock) {
    this.#client = client
    this.#now = now
  }

  /**
   * The resource that an event names as it is now; null when it is gone or the event names none.
   *
   * @throws WebhookError `CLIENT_MISSING`, what the client throws, the signal's reason
   */
  async current(event: WebhookEvent, asking: Asking): Promise<unknown> {
    if (!this.#client) {
      throw new WebhookError(
        'CLIENT_MISSING',
        'context.fetch() needs a client: createReceiver({ secret, client: createClient({ … }) })',
      )
    }
    const { type, id } = event.entity ?? {}
    const get = { verification: this.#client.verifications, client: this.#client.clients }
    const reader = type && Object.hasOwn(get, type) ? get[type] : undefined
    if (!reader || !id) return null
    asking.signal.throwIfAborted()
    const key = JSON.stringify([type, id])
    const read =
      this.#fresh(key, asking) ?? this.#begin(key, (signal) => reader.get(id, { signal }))
    return waitFor(read, asking.signal)
  }

  /** A read that is sure to know of the event: it began after the event came. */
  #fresh(key: string, { receivedAt }: Asking): Read | undefined {
    const read = this.#reads.get(key)
    if (!read || read.stop.signal.aborted || read.began < receivedAt.getTime()) return undefined
    return read.pending || this.#now().getTime() - read.began < shared ? read : undefined
  }

  #begin(key: string, get: (signal: AbortSignal) => Promise<unknown>): Read {
    const stop = new AbortController()
    const began = this.#now().getTime()
    this.#forgetOld(began)
    const work = (async () => get(stop.signal))().then(existing, nullIfMissing)
    const read: Read = { began, work, stop, waiting: 0, pending: true }
    this.#reads.set(key, read)
    const failed = () => {
      if (this.#reads.get(key) === read) this.#reads.delete(key)
    }
    work.catch(failed).finally(() => {
      read.pending = false
    })
    return read
  }

  #forgetOld(now: number): void {
    for (const [key, read] of this.#reads) {
      if (!read.pending && now - read.began >= shared) this.#reads.delete(key)
    }
  }
}

/** Each asks with a signal of its own; the request ends when nobody waits for it any more. */
async function waitFor(read: Read, signal: AbortSignal): Promise<unknown> {
  let leave = () => {}
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason)
    signal.addEventListener('abort', leave, { once: true })
  })
  read.waiting += 1
  try {
    return await Promise.race([read.work, left])
  } finally {
    signal.removeEventListener('abort', leave)
    read.waiting -= 1
    if (read.waiting === 0 && read.pending) read.stop.abort(signal.reason)
  }
}

/** A client that was soft-deleted stays readable (section 2.4); to a handler it is gone. */
function existing(resource: unknown): unknown {
  const { active } = (resource ?? {}) as { readonly active?: unknown }
  return active === false ? null : (resource ?? null)
}

function nullIfMissing(error: unknown): null {
  if ((error as { readonly status?: unknown } | null)?.status === 404) return null
  throw error
}
