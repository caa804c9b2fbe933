// Checks of what a caller passes. A message names the fault with the value's type, and says what to
// pass.
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

/** Returns ` Did you mean 'x'?`, or nothing if no known name is close enough. */
export function suggestion(name: string, known: readonly string[]): string {
  const ending = known.find((one) => one.endsWith(`.${name}`))
  if (ending) return ` Did you mean '${ending}'?`
  let close = ''
  let least = Math.min(name.length, Math.max(2, Math.floor(name.length / 3)) + 1)
  for (const candidate of known) {
    const distance = leven(candidate.toLowerCase(), name.toLowerCase())
    if (distance < least) [least, close] = [distance, candidate]
  }
  close ||= known.find((one) => one.length > 3 && name.toLowerCase().includes(one)) ?? ''
  return close && ` Did you mean '${close}'?`
}

/** The suggestion, left out of bundles for production: the message lists the names anyhow. */
export function hint(value: unknown, known: readonly string[]): string {
  try {
    // Keep `process.env.NODE_ENV` literal: bundlers replace it, and drop the branch.
    if (process.env.NODE_ENV !== 'production') return suggestion(String(value), known)
  } catch {}
  return ''
}

/** Shows a value in a message: its type, and the value if that is short and plain. */
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

/** @throws WebhookError with `code` for anything but an object, and for an unknown option */
export function checkOptionNames(
  by: string,
  options: unknown,
  names: readonly string[],
  code?: WebhookErrorCode,
): void {
  const list = names.join(', ').replace(/^(?=.{140})(.{90,120}), .*$/, '$1 …')
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw invalid(`${by} expects an options object ({ ${list} }), got ${kindShown(options)}`, code)
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown === undefined) return
  const next = hint(unknown, names) || ` Known options: ${list}`
  throw invalid(`${by} has no option '${unknown.slice(0, 30)}'.${next}`, code)
}

/** @throws WebhookError `OPTION_INVALID` for a value that is not in the list */
export function checkChoice(
  name: string,
  value: unknown,
  allowed: readonly unknown[],
  code?: WebhookErrorCode,
): void {
  if (value === undefined || allowed.includes(value)) return
  const texts = allowed.filter((one) => typeof one === 'string')
  const list = allowed.map((one) => (typeof one === 'string' ? `'${one}'` : String(one)))
  const choices = list.join(', ').replace(/, (?!.*, )/, ' or ')
  throw invalid(`${name} must be ${choices}, got ${shown(value)}.${hint(value, texts)}`, code)
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

/** The characters or bytes of the shortest secret that causes no warning. */
export const minSecretLength = 16

/** @throws WebhookError `OPTION_INVALID` for anything but milliseconds that a timer can take */
export function checkMilliseconds(name: string, value: unknown, least = 1): void {
  checkWholeNumber(name, value, { least, most: longestTimer, unit: 'milliseconds' })
}

/** @throws WebhookError `OPTION_INVALID` if a value is given and it is not a function */
export function checkFunction(name: string, value: unknown, example: string): void {
  if (value === undefined || typeof value === 'function') return
  throw invalid(`${name} must be a function, e.g. ${example}, got ${shown(value)}`)
}
