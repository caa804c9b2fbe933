// Shared by the adapters: checks of their arguments, and the work after a reply. Not a door.
import { keepAwake } from '../src/host/promises.ts'
import { type Receiver, WebhookError, type Worker } from '../src/index.ts'

/** The part of a receiver that adapters use. */
export type HandlesRequests = Pick<Receiver, 'handle'>

/** For hosts that stop between requests: what was kept is handled once the reply has left. */
export interface WorkerMountOptions {
  readonly worker?: Pick<Worker, 'runOnce'>
  /** Keeps the host awake until then: Next's `after`; a worker runtime's own is found by itself. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

/** Options of the fetch adapters. */
export interface FetchMountOptions extends WorkerMountOptions {
  /**
   * The address at the other end of the connection, which a Request does not tell and some runtimes
   * give beside it. A header counts only where the runtime itself writes it. For `schemes.ip`.
   *
   * @example toFetch(receiver, { address: (request, server: Server) => server.requestIP(request)?.address })
   */
  readonly address?: ((request: Request, ...context: never[]) => string | undefined) | undefined
}

/** Options of adapters that see the connection themselves. */
export const workerOptions: readonly string[] = ['worker', 'waitUntil']
const fetchOptions = [...workerOptions, 'address']

/** The function that the application calls, under its name. */
type Mount = Readonly<Record<string, (...given: never[]) => unknown>>

/** Checks it where it is mounted, not at the first delivery; `call` shows how it is passed. */
export function checkReceiver(mount: Mount, receiver: HandlesRequests, call?: string): void {
  if (typeof receiver?.handle === 'function') return
  const fix = call ?? `${Object.keys(mount).join()}(receiver)`
  rejectMount(mount, `expects a receiver from createReceiver(): ${fix}`)
}

/** Refuses options of an adapter that has none; `where` says where they belong. */
export function checkNoOptions(
  mount: Mount,
  given: readonly unknown[],
  where = 'options belong in createReceiver({ … })',
): void {
  if (given.every((one) => one === undefined)) return
  rejectMount(mount, `takes a receiver alone: ${where}`)
}

export function checkPath(by: string, path: unknown): void {
  if (typeof path === 'string') return
  const message = `${by} expects the option path, e.g. { path: '/webhooks' }`
  throw new WebhookError('OPTION_INVALID', message)
}

export function checkMount(
  mount: Mount,
  options: FetchMountOptions,
  known: readonly string[] = fetchOptions,
): void {
  const unknown = Object.keys(options ?? {}).find((name) => !known.includes(name))
  if (unknown !== undefined) {
    rejectMount(mount, `has no option '${unknown}'. Known options: ${known.join(', ')}`)
  }
  const { worker, waitUntil, address } = options ?? {}
  if (worker !== undefined && typeof worker?.runOnce !== 'function') {
    rejectMount(mount, 'needs a `worker` from createWorker(receiver)')
  }
  if (waitUntil !== undefined && typeof waitUntil !== 'function') {
    rejectMount(mount, "needs a function as `waitUntil`, e.g. Next's after")
  }
  if (address !== undefined && typeof address !== 'function') {
    rejectMount(mount, 'needs a function as `address`: (request, …context) => address')
  }
}

/** Throws an error whose stack begins at the application's call. */
function rejectMount(mount: Mount, message: string): never {
  const [[by, entry] = []] = Object.entries(mount)
  const error = new WebhookError('OPTION_INVALID', `${by} ${message}`)
  Error.captureStackTrace?.(error, entry)
  // Node prints no excerpt of a line with these words, so the caller's line comes first.
  throw [error, 'node-do-not-add-exception-line'][0]
}

/** Handles what the inbox kept, where the reply's status says that it kept something. */
export function runAfterReply(status: number, { worker, waitUntil }: WorkerMountOptions): void {
  if (!worker || status >= 300) return
  // Nothing that fails here may touch the reply: the entries stay kept, for the next run.
  keepAwake(
    waitUntil,
    worker.runOnce().catch(() => {}),
  )
}

/** For hosts that read on without end what a refused request still sends: ends its connection. */
export function endRefused(response: Response): Response {
  if (response.status >= 400) response.headers.set('connection', 'close')
  return response
}
