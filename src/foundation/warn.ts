// Warnings to the operator that no option asked for; used sparingly, never with a person's data.

/** A warning to the operator: a process warning where there is a process. It never throws. */
export function warn(message: string, code: string): void {
  const runtime = (globalThis as { process?: { emitWarning?: typeof process.emitWarning } }).process
  try {
    if (runtime?.emitWarning) {
      runtime.emitWarning(message, { code })
      return
    }
  } catch {
    // Some edge runtimes define it and refuse the call.
  }
  try {
    console.warn(`${code}: ${message}`)
  } catch {}
}

/** Runs an observer: what it throws, now or later, is reported by `report` and does no harm. */
export function unharmed(look: () => unknown, report: (error: unknown) => void): void {
  try {
    const looked = look()
    // An async observer rejects; nobody awaits it, and unhandled it would end the process.
    if (typeof looked === 'object' && looked !== null) Promise.resolve(looked).catch(report)
  } catch (error) {
    report(error)
  }
}

/** The same, reported as a warning that names the observer and the class of what it threw. */
export function warnIfItThrows(name: string, look: () => unknown): void {
  unharmed(look, (error) => {
    const what = error instanceof Error ? error.name : typeof error
    warn(`${name} threw ${what}`, 'IDV_OBSERVE_FAILED')
  })
}
