// The state that all copies of this package in one process share. An application may load the
// package as ES module and as CommonJS, and each bundle of Next.js has a copy of its own.

/** The started workers of one receiver on one inbox. */
export interface WorkerHolder {
  /** Identifies the receiver. */
  readonly receiver: object
  readonly handlerIds: readonly string[]
  /** Functions that each stop one worker. */
  readonly stops: Set<() => void>
}

/** An inbox that has claimed entries. */
export interface LeaseHolder {
  /** The path of the inbox's file. */
  readonly file: string
  leases(): Iterable<{ readonly id: string; readonly fence: number }>
}

/** The shutdown at a signal, which ends once every worker has drained. */
export interface Shutdown {
  /** The number of workers that are draining. */
  pending: number
  exitCode: number
  /** When the longest grace is over, by `performance.now()`. */
  deadline: number
  /** Each closes the store of a worker that has drained. */
  readonly closers: (() => Promise<void>)[]
}

/** The shared state. A change of its shape needs another key. */
export interface ProcessState {
  /** Receivers with deliveries in flight, by the function that aborts their handlers. */
  readonly busy: Set<() => void>
  /** Called once no receiver has a delivery in flight. */
  readonly onIdle: (() => void)[]
  /** The process is about to exit: receivers reject deliveries, and workers claim nothing. */
  isEnding: boolean
  readonly shutdown: Shutdown
  /** The key is the path of the inbox's file, or the inbox if it has no file. */
  readonly workers: Map<string | object, WorkerHolder>
  readonly leaseHolders: Set<LeaseHolder>
  /** The SQLite files that stores have open, by path; the store knows the type. */
  readonly sqliteFiles: Map<string, unknown>
  /** The key that lets a browser of this machine into the inbox console over `fetch`. */
  consoleKey?: { readonly key: string; shownAt: number }
}

const key = Symbol.for('idv-webhooks.process')

/** The state of this process. */
export function processState(): ProcessState {
  const host = globalThis as { [key]?: ProcessState }
  host[key] ??= {
    busy: new Set(),
    onIdle: [],
    isEnding: false,
    shutdown: { pending: 0, exitCode: 0, deadline: 0, closers: [] },
    workers: new Map(),
    leaseHolders: new Set(),
    sqliteFiles: new Map(),
  }
  return host[key]
}
