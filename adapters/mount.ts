// Shared by the adapters: checks of their arguments, and the work after a reply. Not a door.
import { keepAwake } from '../src/host/promises.ts'
import { type Receiver, WebhookError, type Worker } from '../src/index.ts'

/** The part of a receiver that adapters use. */
export type HandlesRequests = Pick<Receiver, 'handle'>

/**
 * For hosts that stop between requests: the worker handles kept entries after the reply is sent.
 */
export interface WorkerMountOptions {
  readonly worker?: Pick<Worker, 'runOnce'>
  /** Keeps the host awake until then: Next's `after`; a worker runtime's own is found by itself. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
}

/** Options of the fetch adapters. */
export interface FetchMountOptions extends WorkerMountOptions {
  /**
   * Returns the address of the other end of the connection, for `schemes.ip`. Some runtimes give it
   * beside the Request. Read it from a header only if the runtime itself writes that header.
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

/** Checks a receiver when it is mounted, not at the first delivery; `call` shows how to pass it. */
export function checkReceiver(mount: Mount, receiver: HandlesRequests, call?: string): void {
  if (typeof receiver?.handle === 'function') return
  const fix = call ?? `${Object.keys(mount).join()}(receiver)`
  rejectMount(mount, `expects a receiver from createReceiver(): ${fix}`)
}

/** Rejects options for an adapter that has none; `where` says where the options belong. */
export function checkNoOptions(
  mount: Mount,
  given: readonly unknown[],
  where = 'options belong in createReceiver({ … })',
): void {
  if (given.every((one) => one === undefined)) return
  rejectMount(mount, `takes a receiver alone: ${where}`)
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

/** Makes an error whose stack begins at the application's call. */
export function mountError(mount: Mount, message: string): WebhookError {
  const [[by, entry] = []] = Object.entries(mount)
  const error = new WebhookError('OPTION_INVALID', `${by} ${message}`)
  Error.captureStackTrace?.(error, entry)
  return error
}

function rejectMount(mount: Mount, message: string): never {
  // Node prints no excerpt of a line with these words, so the caller's line comes first.
  throw [mountError(mount, message), 'node-do-not-add-exception-line'][0]
}

/** Handles kept entries if the reply's status says that the inbox kept something. */
export function runAfterReply(status: number, { worker, waitUntil }: WorkerMountOptions): void {
  if (!worker || status >= 300) return
  // Nothing that fails here may touch the reply: the entries stay kept, for the next run.
  keepAwake(
    waitUntil,
    worker.runOnce().catch(() => {}),
  )
}

/** Ends the connection of a rejected request, for hosts that would read its body without end. */
export function endRefused(response: Response): Response {
  if (response.status >= 400) response.headers.set('connection', 'close')
  return response
}
