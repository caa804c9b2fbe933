// Ids that are integers above 2^53, which collide once they are numbers.
import type { ReadEnvelope } from './envelope.ts'

/**
 * Ids as they were sent, where numbers would have rounded them. A function that wants numbers has
 * not read the exact ones: then an id that is not in the text does not count.
 */
export function withExactIds(
  rounded: ReadEnvelope,
  exact: ReadEnvelope | undefined,
  text: string,
): ReadEnvelope {
  if (exact) {
    const { id, key, entity, data: exactData } = exact
    return { ...rounded, id, key, entity, exactData }
  }
  return text.includes(rounded.id ?? '') ? rounded : { ...rounded, id: undefined, key: undefined }
}
