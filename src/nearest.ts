// "Did you mean": the one user of leven.
import leven from 'leven'

/** The known name with the fewest letters to change. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  return [...known].sort((a, b) => leven(a, `${name}`) - leven(b, `${name}`))[0]
}
