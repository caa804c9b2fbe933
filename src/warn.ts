// Words to the operator that no option asked for; used sparingly, never with a person's data.

/** A warning to the operator: a process warning where there is a process. */
export function warn(message: string, code: string): void {
  const runtime = (globalThis as { process?: { emitWarning?: typeof process.emitWarning } }).process
  if (runtime?.emitWarning) runtime.emitWarning(message, { code })
  else console.warn(`${code}: ${message}`)
}
