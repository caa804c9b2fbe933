// Warnings to the operator that no option asked for; used sparingly, never with a person's data.
import { errorPage, type OutcomeCode, type WarningCode } from '../errors.ts'
import { emitWarning } from '../host/runtime.ts'

/**
 * Warns the operator, with the page about the code: by a process warning if the
 * runtime has them, else on the console. Never throws.
 */
export function warn(message: string, about: OutcomeCode | WarningCode): void {
  const options = { code: `IDV_${about}`, detail: errorPage(about) }
  if (!emitWarning(message, options)) show(message, about)
}

/** Warns on the console, for messages that must show although process warnings can be turned off. */
export function show(message: string, about: OutcomeCode | WarningCode): void {
  try {
    console.warn(`IDV_${about}: ${message}\n${errorPage(about)}`)
  } catch {}
}

/** After this number of warnings of one code, no more are shown. */
const maxWarnings = 100

/** Shows a warning once for each code and kind; the message is the default kind. */
type WarnOnce = (message: string, about: OutcomeCode | WarningCode, kind?: string) => void

/**
 * Creates a warner that warns of each kind once; `note` ends the message. Each code has its own
 * bound, so that one code cannot silence another.
 */
export function warnOnce(note = ' (shown once)'): WarnOnce {
  const warned = new Map<string, Set<string>>()
  return (message, about, kind = message) => {
    const kinds = warned.get(about) ?? new Set()
    if (kinds.has(kind) || kinds.size >= maxWarnings) return
    warned.set(about, kinds.add(kind))
    const end = `\n(${maxWarnings} IDV_${about} warnings were shown: no more follow)`
    warn(`${message}${note}${kinds.size === maxWarnings ? end : ''}`, about)
  }
}

/**
 * Runs an observer and passes what it throws, now or later, to `report`. Returns the promise of an
 * async observer.
 */
export function unharmed(
  observe: () => unknown,
  report: (error: unknown) => void,
): Promise<unknown> | undefined {
  try {
    const observed = observe()
    // The caller does not await it, and an unhandled rejection would end the process.
    if (typeof observed === 'object' && observed !== null) {
      return Promise.resolve(observed).catch(report)
    }
  } catch (error) {
    report(error)
  }
  return undefined
}

const warnThrown = /* @__PURE__ */ warnOnce()

/** Runs an observer; warns once of its name and the class of what it throws. */
export function warnIfItThrows(name: string, observe: () => unknown): void {
  unharmed(observe, (error) => {
    const what = error instanceof Error ? error.name : typeof error
    warnThrown(`${name} threw ${what}`, 'OBSERVE_FAILED')
  })
}
