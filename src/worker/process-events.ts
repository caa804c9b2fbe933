// Events of the process. Each has one listener for all workers: Node warns of a leak from the eleventh on.

interface ProcessLike {
  on(event: string, listener: Heard): unknown
  off(event: string, listener: Heard): unknown
  exit(code: number): void
  getBuiltinModule?(name: string): unknown
}

type Heard = (given: unknown) => void

export const processHere = () => (globalThis as { process?: ProcessLike }).process

const events = new Map<string, { readonly listeners: Set<Heard>; readonly pass: Heard }>()

export function hear(event: string, listener: Heard): void {
  const known = events.get(event)
  if (known) return void known.listeners.add(listener)
  const listeners = new Set([listener])
  const pass = (given: unknown) => {
    for (const one of [...listeners]) one(given)
  }
  events.set(event, { listeners, pass })
  processHere()?.on(event, pass)
}

export function unhear(event: string, listener: Heard): void {
  const known = events.get(event)
  if (!known?.listeners.delete(listener) || known.listeners.size > 0) return
  events.delete(event)
  processHere()?.off(event, known.pass)
}

/** Whether this is a thread of the process, which hears no signals and whose exit ends itself alone. */
export function isInThread(): boolean {
  try {
    const threads = processHere()?.getBuiltinModule?.('worker_threads')
    return (threads as { readonly isMainThread?: unknown } | undefined)?.isMainThread === false
  } catch {
    return false
  }
}
