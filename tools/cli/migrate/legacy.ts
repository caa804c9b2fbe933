// Legacy names that the migration looks for, and texts that could become one at run time.
import { Script } from 'node:vm'
import { canonicalName, legacyNames } from '../../../src/protocol/index.ts'

/** The part before the dot, in the old and the new names. */
export const legacyPrefix = 'request'
export const currentPrefix = 'verification'

const family = `${legacyPrefix}.*`
const exact: ReadonlyMap<string, string> = new Map(
  [...legacyNames, family].map((name) => [name, canonicalName(name)]),
)
const current = new Set(exact.values())

/** The current name, if a text is exactly a legacy name or the legacy family. */
export function replacementOf(text: string): string | undefined {
  return exact.get(text)
}

/** Whether a text is a current name that replaces a legacy one. */
export function isReplacement(text: string): boolean {
  return current.has(text)
}

const steps = legacyNames.map((name) => name.split('.')[1]).join('|')
const wholeName = new RegExp(`(?<![\\w$.-])${legacyPrefix}\\.(?:${steps})(?![\\w$-])`)
// After white space it ends a sentence: 'the request.'
const openEnd = new RegExp(`(?<![\\w\\s$.-])${legacyPrefix}(?:\\.([a-z]*))?$`)
const wildcard = new RegExp(`(?<![\\w$.-])${legacyPrefix}\\.(?:(?:\\*\\*?|[%#>])(?!\\w)|\\{)`)
const bareStep = new RegExp(`^\\.?(?:${steps})(?![\\w-])`)

const everyName = new RegExp(`(?<![\\w$.-])${legacyPrefix}\\.(?:(?:${steps})(?![\\w$-])|\\*)`, 'g')

/** The exact legacy names and families in a text, with their positions. */
export function namesIn(
  text: string,
): readonly { readonly name: string; readonly index: number }[] {
  return Array.from(text.matchAll(everyName), ({ 0: name, index }) => ({ name, index }))
}

/** How a text contains a legacy name without being one; undefined if it does not. */
export function holdsLegacy(text: string): 'embedded' | 'prefix' | undefined {
  if (wholeName.test(text)) return 'embedded'
  if (wildcard.test(text)) return 'prefix'
  return text.endsWith('.') && openEnd.test(text) ? 'prefix' : undefined
}

/** Whether texts with unknown parts (undefined) between them could form a legacy name. */
export function couldMakeLegacy(parts: readonly (string | undefined)[]): boolean {
  return parts.some((part, at) => {
    if (part === undefined) return false
    if (holdsLegacy(part)) return true
    const open = openEnd.exec(part)
    if (!open || at === parts.length - 1) return false
    const [, step] = open
    if (step !== undefined) return legacyNames.some((name) => name.split('.')[1]?.startsWith(step))
    // Only `request`: the rest must continue like a name.
    return parts.slice(at + 1).some((next) => next !== undefined && bareStep.test(next))
  })
}

/** Whether an unknown part is followed by the rest of a legacy name: `${prefix}.approved`. */
export function completesName(parts: readonly (string | undefined)[]): boolean {
  return parts.some(
    (part, at) =>
      at > 0 && part?.startsWith('.') && parts[at - 1] === undefined && bareStep.test(part),
  )
}

/** Whether any of these is a step of a legacy name. */
export function completedSteps(words: readonly string[]): boolean {
  return words.some((word) => legacyNames.some((name) => name === `${legacyPrefix}.${word}`))
}

const filledIn = new RegExp(`(?:%s|%o|\\{\\w*\\}|\\$\\w+)\\.(?:${steps})(?![\\w-])`)

/** Whether a text is a format for a name: `'%s.approved'`, `'{0}.approved'`. */
export function isNameForm(text: string): boolean {
  return filledIn.test(text)
}

const quotedStep = new RegExp(`['"\`}]\\.?(?:${steps})\\b|(?:${steps})['"\`]`)

/** Whether a source could contain a legacy name; most cannot and are not parsed. */
export function mayHoldLegacy(text: string): boolean {
  return /request/i.test(text) || quotedStep.test(text) || filledIn.test(text)
}

/** A running expression is ended by `vm` alone: one with nested repeats could last for hours. */
const onlyLegacy = new Script('names.some(([old, now]) => pattern.test(old) && !pattern.test(now))')
const pairs = legacyNames.map((name) => [name, canonicalName(name)])
const expressionMs = 250
/** Milliseconds for all slow expressions together: a stranger's file may have thousands. */
let slowMs = 2_000

/** Whether a regular expression matches a legacy name but not its replacement, or takes too long. */
export function matchesOnlyLegacy(source: string, flags: string): boolean {
  if (!source.includes(legacyPrefix)) return false
  let pattern: RegExp
  try {
    pattern = new RegExp(source, flags.replaceAll(/[gy]/g, ''))
  } catch {
    return false
  }
  if (slowMs <= 0) return true
  const began = performance.now()
  try {
    return Boolean(onlyLegacy.runInNewContext({ pattern, names: pairs }, { timeout: expressionMs }))
  } catch {
    return true
  } finally {
    const took = performance.now() - began
    if (took > expressionMs / 5) slowMs -= took
  }
}
