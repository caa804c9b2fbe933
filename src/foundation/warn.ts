// Warnings to the operator that no option asked for; used sparingly, never with a person's data.
import { errorPage, type OutcomeCode, type WarningCode } from '../errors.ts'

/**
 * A warning to the operator, with the address of the page about its code: a process warning where
 * there is a process. It never throws.
 */
export function warn(message: string, about: OutcomeCode | WarningCode): void {
  const code = `IDV_${about}`
  const detail = errorPage(about)
  const runtime = (globalThis as { process?: { emitWarning?: typeof process.emitWarning } }).process
  try {
    // workerd has the call, and prints nothing.
    if (runtime?.emitWarning && !isWorkerd()) {
      runtime.emitWarning(message, { code, detail })
      return
    }
  } catch {
    // Some edge runtimes define it and refuse the call.
  }
  show(message, about)
}

/** The same on the console alone, for what people wait for: process warnings can be turned off. */
export function show(message: string, about: OutcomeCode | WarningCode): void {
  try {
    console.warn(`IDV_${about}: ${message}\n${errorPage(about)}`)
  } catch {}
}

/** The most warnings of one code, where they could go on for ever. */
export const mostOfCode = 100

/** Behind the last warning of a code. */
export const noMore = (about: OutcomeCode | WarningCode) =>
  `\n(${mostOfCode} IDV_${about} warnings were shown: no more follow)`

/** Warns unless it has warned of the same code and kind; the kind is the message by default. */
type WarnOnce = (message: string, about: OutcomeCode | WarningCode, kind?: string) => void

/**
 * Warns of each kind once, where it could be repeated for ever; `note` says so behind it. Each code
 * has its own bound, so that one cannot silence another.
 */
export function warnOnce(note = ' (shown once)'): WarnOnce {
  const warned = new Map<string, Set<string>>()
  return (message, about, kind = message) => {
    const kinds = warned.get(about) ?? new Set()
    if (kinds.has(kind) || kinds.size >= mostOfCode) return
    warned.set(about, kinds.add(kind))
    warn(`${message}${note}${kinds.size === mostOfCode ? noMore(about) : ''}`, about)
  }
}

/** Cloudflare Workers, and what runs them on a developer's machine. */
export function isWorkerd(): boolean {
  const { navigator: host } = globalThis as { readonly navigator?: { readonly userAgent?: string } }
  return host?.userAgent === 'Cloudflare-Workers'
}

/** A runtime that does not tell is treated as production. */
export function isDevelopment(): boolean {
  try {
    // Written out, for bundlers put the mode in its place.
    const mode = process.env.NODE_ENV
    // Lambda sets no mode, and runs on nobody's own machine.
    if (mode === undefined && process.env.AWS_LAMBDA_FUNCTION_NAME) return false
    return isWorkerd() ? mode === 'development' : mode !== 'production'
  } catch {
    // No process, or Deno without --allow-env.
    return false
  }
}

/**
 * Runs an observer: what it throws, now or later, is reported by `report` and does no harm. Returns
 * the promise of one that is not done yet.
 */
export function unharmed(
  look: () => unknown,
  report: (error: unknown) => void,
): Promise<unknown> | undefined {
  try {
    const looked = look()
    // An async observer rejects; nobody awaits it, and unhandled it would end the process.
    if (typeof looked === 'object' && looked !== null) return Promise.resolve(looked).catch(report)
  } catch (error) {
    report(error)
  }
  return undefined
}

const warnThrown = warnOnce()

/** The same, reported once as a warning that names the observer and the class of what it threw. */
export function warnIfItThrows(name: string, look: () => unknown): void {
  unharmed(look, (error) => {
    const what = error instanceof Error ? error.name : typeof error
    warnThrown(`${name} threw ${what}`, 'OBSERVE_FAILED')
  })
}
