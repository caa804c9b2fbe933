// The runtime that the package runs on: Node, Bun, Deno, workerd, and hosts such as AWS Lambda.

type Listener = (given: unknown) => void

interface Warning {
  readonly code: string
  readonly detail: string
}

interface HostProcess {
  readonly versions?: Partial<Record<'node' | 'v8' | 'bun' | 'deno', string>>
  emitWarning?(message: string, options: Warning): void
  on(event: string, listener: Listener): unknown
  off(event: string, listener: Listener): unknown
  exit(code: number): void
  getBuiltinModule?(name: string): unknown
}

const hostProcess = () => (globalThis as { process?: HostProcess }).process

/** The needs of the package that this runtime does not meet; undefined if it meets all of them. */
export function unmetNeed(): string | undefined {
  const { TextDecoder: decoder, crypto: { subtle } = {} } = globalThis as Partial<typeof globalThis>
  if (!decoder || !subtle) return "TextDecoder and WebCrypto: with Jest set testEnvironment: 'node'"
  const { node, v8, bun, deno } = hostProcess()?.versions ?? {}
  // Other runtimes state the version of Node that they are compatible with.
  if (node === undefined || v8 === undefined || (bun ?? deno) !== undefined) return undefined
  const [major = 0, minor = 0] = node.split('.').map(Number)
  const isNew = major > 22 || (major === 22 && minor >= 18)
  return isNew ? undefined : `Node 22.18 or newer, and this is ${node}`
}

function isWorkerd(): boolean {
  const { navigator: host } = globalThis as { readonly navigator?: { readonly userAgent?: string } }
  return host?.userAgent === 'Cloudflare-Workers'
}

/** Says where a special host reads environment variables from; undefined for other hosts. */
export function variablesHint(): string | undefined {
  if (!isWorkerd()) return undefined
  return 'on Workers in .dev.vars or by wrangler secret put; process.env needs nodejs_compat and a compatibility date from 2025-04-01'
}

/** True on a developer's machine. A runtime without a mode counts as production. */
export function isDevelopment(): boolean {
  try {
    // Keep `process.env.NODE_ENV` literal: bundlers replace it.
    const mode = process.env.NODE_ENV
    if (mode === undefined && process.env.AWS_LAMBDA_FUNCTION_NAME) return false
    return isWorkerd() ? mode === 'development' : mode !== 'production'
  } catch {
    // There is no process, or Deno runs without --allow-env.
    return false
  }
}

/** True in a test runner, which sets this mode. */
export const isTest = () => isDevelopment() && process.env.NODE_ENV === 'test'

/** Emits a process warning; false if the runtime has none. */
export function emitWarning(message: string, options: Warning): boolean {
  try {
    const host = hostProcess()
    // workerd has the call, and prints nothing.
    if (!host?.emitWarning || isWorkerd()) return false
    host.emitWarning(message, options)
    return true
  } catch {
    // Some edge runtimes define it and refuse the call.
    return false
  }
}

/** Runs a function in the next turn of the event loop. Fake timers of a test replace the global. */
export const schedule: (run: () => void) => unknown = globalThis.setImmediate ?? setTimeout

/** Resolves in the next turn of the event loop. */
export const nextTurn = () => new Promise<void>((resolve) => void schedule(resolve))

/** True if the runtime has a process that can hear signals. */
export const hasProcess = (): boolean => hostProcess() !== undefined

export const exitProcess = (code: number): void => hostProcess()?.exit(code)

/** True in a worker thread, which receives no signals and whose exit ends only itself. */
export function isWorkerThread(): boolean {
  try {
    const threads = hostProcess()?.getBuiltinModule?.('worker_threads')
    return (threads as { readonly isMainThread?: unknown } | undefined)?.isMainThread === false
  } catch {
    return false
  }
}

const events = new Map<string, { readonly listeners: Set<Listener>; readonly pass: Listener }>()

/** Listens to an event of the process. All listeners share one: Node warns from the eleventh on. */
export function onProcess(event: string, listener: Listener): void {
  const known = events.get(event)
  if (known) return void known.listeners.add(listener)
  const listeners = new Set([listener])
  const pass = (given: unknown) => {
    for (const one of [...listeners]) one(given)
  }
  events.set(event, { listeners, pass })
  hostProcess()?.on(event, pass)
}

export function offProcess(event: string, listener: Listener): void {
  const known = events.get(event)
  if (!known?.listeners.delete(listener) || known.listeners.size > 0) return
  events.delete(event)
  hostProcess()?.off(event, known.pass)
}
