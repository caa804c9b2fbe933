// Headers as Node has them raw, one after the other, as pairs of name and value; and back.

export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/** Pairs in their order and spelling; one that stands twice stays twice. */
export function headerPairs(raw: readonly string[]): HeaderPairs {
  return raw.flatMap((name, at, all) => (at % 2 === 0 ? [[name, all[at + 1] ?? ''] as const] : []))
}
