// A whole error, for a developer's own machine: its text, and the stack of the application.

const ofPackage = /^\s+at .*[\\/]idv-webhooks[\\/]dist[\\/]/
// The calls of a handler and of `around`. An unminified bundle keeps their names, and has no folder.
const ofCall = /^\s+at (?:async )?(?:callWebhookHandler|runAround)\d* \(/
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
  let isBelow = false
  const kept = stack.split('\n').filter((line) => {
    isBelow = /^\s+at /.test(line) && (isBelow || ofCall.test(line))
    return !isBelow && !ofPackage.test(line)
  })
  const hasPlace = kept.some((line) => /^\s+at /.test(line) && !ofNode.test(line))
  return hasPlace ? kept.join('\n') : stack
}
