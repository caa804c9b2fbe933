// Node's raw headers, a flat list, as pairs of name and value.

export type HeaderPairs = readonly (readonly [name: string, value: string])[]

/** Pairs in their order and spelling; repeated headers stay repeated. */
export function headerPairs(raw: readonly string[]): HeaderPairs {
  return raw.flatMap((name, at, all) => (at % 2 === 0 ? [[name, all[at + 1] ?? ''] as const] : []))
}
