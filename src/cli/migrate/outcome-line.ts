// Finds the outcome that logOutcomes() wrote in a log line; a log shipper may have added text around
// it, or put the line into a field of its own JSON.

/** The outcome of one delivery, as far as it is needed. */
export interface SeenOutcome {
  readonly at: Date
  readonly receivedName?: string
  readonly secretId?: string
}

type JsonObject = Readonly<Record<string, unknown>>

/** Matches an outcome, also inside a JSON string. */
const ofOutcome = /\\*"type\\*"\s*:\s*\\*"outcome\\*"/
/** A line has few braces before the outcome. */
const maxBraces = 32

/**
 * Reads a line: undefined if it has no relevant outcome, `unread` if its outcome cannot be read.
 */
export function outcomeIn(line: string): SeenOutcome | 'unread' | undefined {
  if (!ofOutcome.test(line)) return undefined
  const json = outcomeOf(line)
  if (!json) return 'unread'
  const { kind, at, receivedName, secretId, source } = json
  if (source === 'reconcile') return undefined
  // A rejected delivery proves nothing: anyone could have sent it.
  if (kind === 'rejected' && receivedName === undefined) return undefined
  const moment = new Date(typeof at === 'string' ? at : Number.NaN)
  if (Number.isNaN(moment.getTime())) return 'unread'
  return {
    at: moment,
    ...(typeof receivedName === 'string' && { receivedName }),
    ...(typeof secretId === 'string' && { secretId }),
  }
}

/** The first object in a text that is an outcome, or contains one. */
function outcomeOf(text: string): JsonObject | undefined {
  let at = text.indexOf('{')
  for (let tried = 0; at !== -1 && tried < maxBraces; tried += 1) {
    const json = objectAt(text, at)
    const found = json && within(json)
    if (found) return found
    at = text.indexOf('{', at + 1)
  }
  return undefined
}

function within(json: JsonObject): JsonObject | undefined {
  if (json.type === 'outcome') return json
  for (const value of Object.values(json)) {
    if (typeof value === 'string' && ofOutcome.test(value)) return outcomeOf(value)
    const isObject = typeof value === 'object' && value !== null
    const found = isObject ? within(value as JsonObject) : undefined
    if (found) return found
  }
  return undefined
}

/** The JSON object that starts at a brace. */
function objectAt(text: string, start: number): JsonObject | undefined {
  const token = /"(?:[^"\\]|\\.)*"|[{}]/g
  token.lastIndex = start
  let depth = 0
  for (let part = token.exec(text); part; part = token.exec(text)) {
    if (part[0] === '{') depth += 1
    else if (part[0] === '}') depth -= 1
    if (depth > 0) continue
    try {
      return JSON.parse(text.slice(start, token.lastIndex)) as JsonObject
    } catch {
      return undefined
    }
  }
  return undefined
}
