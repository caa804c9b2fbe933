// Deep equality for the conformance suite, which must run under any test runner.

/** @throws Error that shows both when they differ; a missing and an undefined field are the same */
export function same(actual: unknown, expected: unknown, when = ''): void {
  const [is, should] = [JSON.stringify(plain(actual)), JSON.stringify(plain(expected))]
  if (is === should) return
  throw new Error(`${when && `${when}: `}expected ${should}, got ${is}`)
}

/** Bytes as a text, whatever class of them a library gives; fields in the order of their names. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return `bytes ${Array.from(value).join(' ')}`
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  const sorted = fields.sort(([one], [two]) => (one < two ? -1 : 1))
  return Object.fromEntries(sorted.map(([name, field]) => [name, plain(field)]))
}
