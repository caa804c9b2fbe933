// What migration looks for: the exact legacy names, and texts that could become one at run time.
import { canonicalName, legacyNames } from '../../protocol/index.ts'

/** The part before the dot, in the old and the new names. */
export const legacyPrefix = 'request'
export const currentPrefix = 'verification'

const family = `${legacyPrefix}.*`
const exact: ReadonlyMap<string, string> = new Map(
  [...legacyNames, family].map((name) => [name, canonicalName(name)]),
)
const current = new Set(exact.values())

/** The name that replaces a text, where the text is exactly a legacy name or the legacy family. */
export function replacementOf(text: string): string | undefined {
  return exact.get(text)
}

/** The legacy name that a current one has replaced. */
export function isReplacement(text: string): boolean {
  return current.has(text)
}

const steps = legacyNames.map((name) => name.split('.')[1]).join('|')
const wholeName = new RegExp(`(?<![\\w$.-])${legacyPrefix}\\.(?:${steps})(?![\\w$-])`)
// After white space it is the end of a sentence: 'the request.'
const openEnd = new RegExp(`(?<![\\w\\s$.-])${legacyPrefix}(?:\\.([a-z]*))?$`)
const wildcard = new RegExp(`(?<![\\w$.-])${legacyPrefix}\\.(?:(?:\\*\\*?|[%#>])(?!\\w)|\\{)`)
const bareStep = new RegExp(`^\\.?(?:${steps})(?![\\w-])`)

/** Why a piece of text holds a legacy name without being one; undefined when it does not. */
export function holdsLegacy(text: string): 'embedded' | 'prefix' | undefined {
  if (wholeName.test(text)) return 'embedded'
  if (wildcard.test(text)) return 'prefix'
  return text.endsWith('.') && openEnd.test(text) ? 'prefix' : undefined
}

/** Whether texts with unknown ones between them (undefined) could make a legacy name. */
export function couldMakeLegacy(parts: readonly (string | undefined)[]): boolean {
  return parts.some((part, at) => {
    if (part === undefined) return false
    if (holdsLegacy(part)) return true
    const open = openEnd.exec(part)
    if (!open || at === parts.length - 1) return false
    const [, step] = open
    if (step !== undefined) return legacyNames.some((name) => name.split('.')[1]?.startsWith(step))
    // Only `request`: what follows must go on as a name does.
    return parts.slice(at + 1).some((next) => next !== undefined && bareStep.test(next))
  })
}

/** Whether something unknown is followed by the rest of a legacy name: `${prefix}.approved`. */
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

/** Whether a text is a form whose gap comes before a step: `'%s.approved'`, `'{0}.approved'`. */
export function isNameForm(text: string): boolean {
  return filledIn.test(text)
}

const quotedStep = new RegExp(`['"\`}]\\.?(?:${steps})\\b|(?:${steps})['"\`]`)

/** Whether a source can hold anything of interest; most cannot, and need not be parsed. */
export function mayHoldLegacy(text: string): boolean {
  return /request/i.test(text) || quotedStep.test(text) || filledIn.test(text)
}

/** Whether a regular expression takes a legacy name and not the one that replaced it. */
export function matchesOnlyLegacy(source: string, flags: string): boolean {
  if (!source.includes(legacyPrefix)) return false
  let pattern: RegExp
  try {
    pattern = new RegExp(source, flags.replaceAll(/[gy]/g, ''))
  } catch {
    return false
  }
  return legacyNames.some((name) => pattern.test(name) && !pattern.test(canonicalName(name)))
}
