// What options may say: an option that is none is told with the nearest that is, never passed over.
import { WebhookError } from './errors.ts'
import { nearest } from './nearest.ts'

/** What is wrong with the names of an object's options, or undefined; `by` is who takes them. */
export function optionFault(
  by: string,
  options: unknown,
  names: readonly string[],
): string | undefined {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    return `${by} takes its options as an object: { ${names.join(', ')} }`
  }
  const unknown = Object.keys(options).find((name) => !names.includes(name))
  if (unknown === undefined) return undefined
  return `${by}: there is no option '${unknown}': did you mean '${nearest(unknown, names)}'? There are ${names.join(', ')}`
}

/** @throws WebhookError `OPTION_INVALID` for what is no object, or has an option that is none */
export function checkOptionNames(by: string, options: unknown, names: readonly string[]): void {
  const fault = optionFault(by, options, names)
  if (fault !== undefined) throw new WebhookError('OPTION_INVALID', fault)
}

/** @throws WebhookError `OPTION_INVALID` for a value that is none of those allowed */
export function checkChoice(name: string, value: unknown, allowed: readonly unknown[]): void {
  if (value === undefined || allowed.includes(value)) return
  const texts = allowed.filter((one) => typeof one === 'string')
  const close = typeof value === 'string' ? nearest(value, texts) : undefined
  const hint = close === undefined ? '' : `did you mean '${close}'? `
  throw new WebhookError(
    'OPTION_INVALID',
    `${name} is ${shown(value)}: ${hint}use ${allowed.join(', ').replace(/, (?!.*, )/, ' or ')}`,
  )
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value}'`
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
