// Checks of what a caller passes: unknown options, wrong types, values out of range.
// Every message says what is wrong, with the type of the value, and what to pass instead.
import leven from 'leven'
import { WebhookError, type WebhookErrorCode } from '../errors.ts'

/** A refusal of a caller's argument. */
export function invalid(
  message: string,
  code: WebhookErrorCode = 'OPTION_INVALID',
  options?: ErrorOptions,
): WebhookError {
  return new WebhookError(code, message, options)
}

/** The closest known name, if it is close enough to be a typo of it. */
function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let least = Math.min(name.length, Math.max(2, Math.floor(name.length / 3)) + 1)
  for (const candidate of known) {
    const distance = leven(candidate.toLowerCase(), name.toLowerCase())
    if (distance < least) {
      least = distance
      best = candidate
    }
  }
  return best
}

/** ` Did you mean 'x'?`, or nothing where no known name is close. */
export function suggestion(name: string, known: readonly string[]): string {
  const close = nearest(name, known)
  return close === undefined ? '' : ` Did you mean '${close}'?`
}

/** A value as it may stand in a message: its type, and the value where that is short and plain. */
export function shown(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string') {
    return value.length > 60 ? `a string of ${value.length} characters` : `string '${value}'`
  }
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object'
  if (typeof value === 'function') return 'a function'
  return `${typeof value} ${String(value)}`
}

/** A value without its text, which may be a secret or a person's data. */
export function kindShown(value: unknown): string {
  if (typeof value !== 'string') return shown(value)
  return value === '' ? 'an empty string' : 'a string'
}

/** Describes the first invalid option name, or returns undefined; `by` names the function. */
function optionFault(by: string, options: unknown, names: readonly string[]): string | undefined {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    return `${by} expects an options object ({ ${names.join(', ')} }), got ${kindShown(options)}`
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown === undefined) return undefined
  return `${by} has no option '${unknown}'.${suggestion(unknown, names)} Known options: ${names.join(', ')}`
}

/** @throws WebhookError with `code` for anything but an object, and for an unknown option */
export function checkOptionNames(
  by: string,
  options: unknown,
  names: readonly string[],
  code?: WebhookErrorCode,
): void {
  const fault = optionFault(by, options, names)
  if (fault !== undefined) throw invalid(fault, code)
}

/** @throws WebhookError `OPTION_INVALID` for a value that is not one of those allowed */
export function checkChoice(
  name: string,
  value: unknown,
  allowed: readonly unknown[],
  code?: WebhookErrorCode,
): void {
  if (value === undefined || allowed.includes(value)) return
  const texts = allowed.filter((one) => typeof one === 'string')
  const hint = typeof value === 'string' ? suggestion(value, texts) : ''
  const list = allowed.map((one) => (typeof one === 'string' ? `'${one}'` : String(one)))
  const choices = list.join(', ').replace(/, (?!.*, )/, ' or ')
  throw invalid(`${name} must be ${choices}, got ${shown(value)}.${hint}`, code)
}

/** @throws WebhookError `OPTION_INVALID` for anything but a whole number within the bounds */
export function checkWholeNumber(
  name: string,
  value: unknown,
  { least = 1, most = Number.MAX_SAFE_INTEGER, unit = '' } = {},
): void {
  const of = unit === '' ? '' : ` of ${unit}`
  if (typeof value !== 'number') {
    throw invalid(`${name} must be a number${of}, got ${shown(value)}`)
  }
  if (Number.isInteger(value) && value >= least && value <= most) return
  const range = most === Number.MAX_SAFE_INTEGER ? `${least} or more` : `from ${least} to ${most}`
  throw invalid(`${name} must be a whole number${of}, ${range}, got ${value}`)
}

/** setTimeout takes no more than 2^31 - 1 ms and would fire at once beyond it. */
export const longestTimer = 2 ** 31 - 1

/** @throws WebhookError `OPTION_INVALID` for anything but milliseconds that a timer can take */
export function checkMilliseconds(name: string, value: unknown, least = 1): void {
  checkWholeNumber(name, value, { least, most: longestTimer, unit: 'milliseconds' })
}

/** @throws WebhookError `OPTION_INVALID` if a value is given and it is not a function */
export function checkFunction(name: string, value: unknown, example: string): void {
  if (value === undefined || typeof value === 'function') return
  throw invalid(`${name} must be a function, e.g. ${example}, got ${shown(value)}`)
}
