// Warnings to the operator that no option asked for; used sparingly, never with a person's data.
import { errorPage, type OutcomeCode, type WarningCode } from './errors.ts'

/**
 * A warning to the operator, with the address of the page about its code: a process warning where
 * there is a process. It never throws.
 */
export function warn(message: string, about: OutcomeCode | WarningCode): void {
  const code = `IDV_${about}`
  const detail = errorPage(about)
  const runtime = (globalThis as { process?: { emitWarning?: typeof process.emitWarning } }).process
  try {
    if (runtime?.emitWarning) {
      runtime.emitWarning(message, { code, detail })
      return
    }
  } catch {
    // Some edge runtimes define it and refuse the call.
  }
  try {
    console.warn(`${code}: ${message}\n${detail}`)
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
    warn(`${name} threw ${what}`, 'OBSERVE_FAILED')
  })
}
