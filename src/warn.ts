// Words to the operator that no option asked for; used sparingly, never with a person's data.

/** A warning to the operator: a process warning where there is a process. */
export function warn(message: string, code: string): void {
  const runtime = (globalThis as { process?: { emitWarning?: typeof process.emitWarning } }).process
  if (runtime?.emitWarning) runtime.emitWarning(message, { code })
  else console.warn(`${code}: ${message}`)
}

/** Runs what others gave us to look on: what it throws, now or later, is told and does no harm. */
export function unharmed(look: () => unknown, told: (error: unknown) => void): void {
  try {
    const looked = look()
    // An async one rejects; nobody awaits it, and unhandled it would end the process.
    if (typeof looked === 'object' && looked !== null) Promise.resolve(looked).catch(told)
  } catch (error) {
    told(error)
  }
}

/** The same, told as a warning that says which one threw what, without its text. */
export function warnIfItThrows(name: string, look: () => unknown): void {
  unharmed(look, (error) => {
    const what = error instanceof Error ? error.name : typeof error
    warn(`${name} threw ${what}`, 'IDV_OBSERVE_FAILED')
  })
}
