// Ids that are integers above 2^53, which collide once they are numbers.
import type { ReadEnvelope } from './envelope.ts'
import { isObject, longestId } from './json-paths.ts'

/**
 * Ids as they were sent, where numbers would have rounded them. A function may have made numbers of
 * them, or want numbers and not have read the exact ones: then an id does not count that contains
 * one of the spellings of what was rounded.
 */
export function withExactIds(
  rounded: ReadEnvelope,
  exact: ReadEnvelope | undefined,
  { rounded: spellings }: { readonly rounded: readonly string[] },
): ReadEnvelope {
  const { id, key, entity, data, exactData } = exact ?? rounded
  if (!rounded.byFunction) return { ...rounded, id, key, entity, exactData: data }
  const isRounded = finderOf(spellings)
  const ids = isRounded(id) ? { id: undefined, key: undefined } : { id, key }
  const known = isRounded(entity?.id) ? undefined : entity
  return {
    ...rounded,
    ...ids,
    entity: known,
    exactData: exactData ?? withoutRounded(data, isRounded),
  }
}

const numbers = /\d(?:\.\d+)?e\+\d+|\d{16,}/g

/**
 * Tells whether a text has one of the spellings, also before or after other digits. A sender may
 * give thousands of both, so each number of the text is looked up, not each spelling in the text.
 */
function finderOf(spellings: readonly string[]): (value: unknown) => boolean {
  const known = new Set(spellings.map((one) => one.replace('-', '')))
  const lengths = [...new Set([...known].map(({ length }) => length))]
  const isKnown = (number: string) =>
    lengths.some((most) => known.has(number.slice(0, most)) || known.has(number.slice(-most)))
  return (value) =>
    typeof value === 'string' &&
    value.length <= longestId &&
    (value.match(numbers) ?? []).some(isKnown)
}

/** The entity and the client may be named in data that the function has made. */
function withoutRounded(data: unknown, isRounded: (value: unknown) => boolean): unknown {
  if (!isObject(data) || !Object.values(data).some(isRounded)) return data
  return Object.fromEntries(Object.entries(data).filter(([, value]) => !isRounded(value)))
}
