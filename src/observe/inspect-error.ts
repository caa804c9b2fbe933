// A whole error, for a developer's own machine: its text, and the stack of the application.

const ofPackage = /^\s+at .*[\\/]idv-webhooks[\\/]dist[\\/]/
const ofNode = /^\s+at (?:.*\()?node:/

/** An error with its text and stack, less the frames of this package where others say the place. */
export function inspectError(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error)
    return typeof error.stack === 'string' ? withoutOurs(error.stack) : String(error)
  } catch {
    // A revoked proxy, a getter that throws: handlers throw what they like.
    return 'unreadable'
  }
}

function withoutOurs(stack: string): string {
  const kept = stack.split('\n').filter((line) => !ofPackage.test(line))
  const hasPlace = kept.some((line) => /^\s+at /.test(line) && !ofNode.test(line))
  return hasPlace ? kept.join('\n') : stack
}
