// Deep equality for the conformance suite, which must run under any test runner.

/** @throws Error that shows both when they differ; a missing and an undefined field are the same */
export function same(actual: unknown, expected: unknown, when = ''): void {
  const [is, should] = [spelled(actual), spelled(expected)]
  if (is === should) return
  throw new Error(`${when && `${when}: `}expected ${should}, got ${is}`)
}

function spelled(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (part instanceof Uint8Array) return `bytes ${Array.from(part).join(' ')}`
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part
    const fields = Object.entries(part).filter(([, field]) => field !== undefined)
    return Object.fromEntries(fields.sort(([one], [two]) => (one < two ? -1 : 1)))
  })
}
