// A fetch handler for every runtime and framework that turns a Request into a Response.
import { Chunks, isBytes } from '../src/foundation/bytes.ts'
import { ignoreRejection, keepAwake } from '../src/host/promises.ts'
import type { BodyFault, BodyReading, Incoming } from '../src/index.ts'
import { addressOf } from './address.ts'
import {
  checkMount,
  checkReceiver,
  endRefused,
  type FetchMountOptions,
  type HandlesRequests,
  runAfterReply,
  type WorkerMountOptions,
} from './mount.ts'

export type { FetchMountOptions, HandlesRequests, WorkerMountOptions }
export { runAfterReply }

const consumed: BodyFault = {
  code: 'BODY_CONSUMED',
  message:
    'the body was read before the receiver: hand it the untouched Request, before request.json() or a body parser',
}

/** A Response of such a status with a body throws. */
const bodiless = new Set([204, 205, 304])

/**
 * A fetch handler.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example export default { fetch: toFetch(receiver) }
 */
export function toFetch(receiver: HandlesRequests, options: FetchMountOptions = {}) {
  checkReceiver({ toFetch }, receiver)
  checkMount({ toFetch }, options)
  const { address, worker } = options
  return async (request: Request, ...context: readonly unknown[]): Promise<Response> => {
    const host = context.length === 0 ? undefined : waitUntilOf(context)
    const waitUntil = options.waitUntil ?? host
    // Trust is granted here: the host passes the arguments that the function's type names.
    const from = address && textOrNone(() => address(request, ...(context as never[])))
    const incoming = new FetchIncoming(request, from, waitUntil)
    const handled = receiver.handle(incoming)
    // Some hosts drop a request whose sender has disconnected, even while a handler runs.
    if (host) keepAwake(host, handled)
    const { status, headers, body } = await handled
    if (worker) runAfterReply(status, { worker, waitUntil })
    const response = new Response(bodiless.has(status) ? null : body, { status, headers })
    // Some hosts read on, or wait for, the body of a rejected request, also if its method allows no
    // Request body: the reply ends the connection.
    return incoming.isRead ? response : endRefused(response)
  }
}

class FetchIncoming implements Incoming {
  readonly method: string
  readonly headers: Headers
  readonly address: string | undefined
  readonly waitUntil: Incoming['waitUntil']
  /** The body is complete. */
  isRead: boolean
  readonly #request: Request

  constructor(request: Request, address: string | undefined, waitUntil: Incoming['waitUntil']) {
    this.method = request.method
    this.headers = request.headers
    this.address = address
    this.waitUntil = waitUntil
    this.isRead = false
    this.#request = request
  }

  get url(): string {
    return urlOf(this.#request)
  }

  async read(reading: BodyReading): Promise<Uint8Array | BodyFault> {
    const body = await readBody(this.#request, reading)
    this.isRead = !('code' in body)
    return body
  }
}

/**
 * The address that the sender used: behind a proxy, and in Next.js, the host's own address differs.
 */
function urlOf({ url, headers }: Request): string {
  const [, scheme = '', own, path = ''] = /^([^:]+):\/\/([^/?#]*)(.*)$/s.exec(url) ?? []
  const forwarded = headers.get('x-forwarded-proto') ?? undefined
  return addressOf({ forwarded, scheme, host: headers.get('host') ?? own, path }, url)
}

/**
 * Undefined for an async function, and for a function that throws because the sender has
 * disconnected.
 */
function textOrNone(tell: () => unknown): string | undefined {
  try {
    const address = tell()
    ignoreRejection(address)
    return typeof address === 'string' ? address : undefined
  } catch {
    return undefined
  }
}

/** `fetch(request, env, context)`: the context of workers and edge runtimes. */
function waitUntilOf(context: readonly unknown[]): FetchMountOptions['waitUntil'] {
  const host = context.find(
    (one) => typeof (one as { waitUntil?: unknown } | null)?.waitUntil === 'function',
  ) as { waitUntil(work: Promise<unknown>): void } | undefined
  return host && ((work) => host.waitUntil(work))
}

function readBody(request: Request, reading: BodyReading): Promise<Uint8Array | BodyFault> {
  if (request.bodyUsed) return Promise.resolve(consumed)
  const length = request.headers.get('content-length')
  const isDeclared = length !== null && !request.headers.has('transfer-encoding')
  if (isDeclared && reading.reserve(Number(length))) return readWhole(request, reading)
  return readChunks(request, reading)
}

/** A short body, without a stream: on several hosts that costs more than the delivery itself. */
function readWhole(request: Request, reading: BodyReading): Promise<Uint8Array | BodyFault> {
  return new Promise((resolve) => {
    reading.onStop(resolve)
    request.arrayBuffer().then(
      (bytes) => resolve(new Uint8Array(bytes)),
      // A body that was read elsewhere, or is locked, is a TypeError; a connection that broke is not.
      (error) => resolve(error instanceof TypeError ? consumed : brokenBy(error)),
    )
  })
}

async function readChunks(request: Request, reading: BodyReading): Promise<Uint8Array | BodyFault> {
  if (request.body?.locked) return consumed
  if (!request.body) return new Uint8Array()
  const reader = request.body.getReader()
  return new Promise((resolve) => {
    const stop = (fault: BodyFault) => {
      resolve(fault)
      // Not awaited: a stream that never ends may never confirm that it is canceled.
      reader.cancel().catch(() => {})
    }
    reading.onStop(stop)
    // A loop, because chained promises, one a chunk, would all live until the last.
    const collect = async () => {
      const chunks = new Chunks()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return resolve(chunks.joined())
        if (!isBytes(value)) return stop(consumed)
        const fault = reading.take(value.length)
        if (fault) return stop(fault)
        chunks.add(value)
        const turn = chunks.turn()
        if (turn) await turn
      }
    }
    collect().catch((error) => resolve(brokenBy(error)))
  })
}

/** A host with its own limit, such as SvelteKit, ends the stream with an error of status 413. */
function brokenBy(error: unknown): BodyFault {
  const { status } = (error ?? {}) as { readonly status?: unknown }
  return { code: status === 413 ? 'BODY_TOO_LARGE' : 'BODY_INCOMPLETE' }
}
