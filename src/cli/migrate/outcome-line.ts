// An outcome in a line of a log, as logOutcomes wrote it: a shipper may have put text before and
// after it, or the whole line into a field of its own JSON.

/** What a line tells of one delivery. */
export interface SeenOutcome {
  readonly at: Date
  readonly receivedName?: string
  readonly secretId?: string
}

type Json = Readonly<Record<string, unknown>>

/** A line that speaks of an outcome, in a text within JSON too. */
const ofOutcome = /\\*"type\\*"\s*:\s*\\*"outcome\\*"/
/** A line has few braces before its own; more would be a text that only looks alike. */
const mostBraces = 32

/**
 * Reads a line: undefined where it says nothing of a legacy name, `unread` where it is of an
 * outcome that cannot be read.
 */
export function outcomeIn(line: string): SeenOutcome | 'unread' | undefined {
  if (!ofOutcome.test(line)) return undefined
  const json = outcomeOf(line)
  if (!json) return 'unread'
  const { kind, at, receivedName, secretId, source } = json
  if (source === 'reconcile') return undefined
  // What was refused unread proves nothing: anybody could have sent it.
  if (kind === 'rejected' && receivedName === undefined) return undefined
  const moment = new Date(typeof at === 'string' ? at : Number.NaN)
  if (Number.isNaN(moment.getTime())) return 'unread'
  return {
    at: moment,
    ...(typeof receivedName === 'string' && { receivedName }),
    ...(typeof secretId === 'string' && { secretId }),
  }
}

/** The first object in a text that is an outcome, or has one as a field or in the text of one. */
function outcomeOf(text: string): Json | undefined {
  let at = text.indexOf('{')
  for (let tried = 0; at !== -1 && tried < mostBraces; tried += 1) {
    const json = objectAt(text, at)
    const found = json && within(json)
    if (found) return found
    at = text.indexOf('{', at + 1)
  }
  return undefined
}

function within(json: Json): Json | undefined {
  if (json.type === 'outcome') return json
  for (const value of Object.values(json)) {
    if (typeof value === 'string' && ofOutcome.test(value)) return outcomeOf(value)
    const isObject = typeof value === 'object' && value !== null
    const found = isObject ? within(value as Json) : undefined
    if (found) return found
  }
  return undefined
}

/** The object that begins at a brace, as far as its JSON goes. */
function objectAt(text: string, start: number): Json | undefined {
  const token = /"(?:[^"\\]|\\.)*"|[{}]/g
  token.lastIndex = start
  let depth = 0
  for (let part = token.exec(text); part; part = token.exec(text)) {
    if (part[0] === '{') depth += 1
    else if (part[0] === '}') depth -= 1
    if (depth > 0) continue
    try {
      return JSON.parse(text.slice(start, token.lastIndex)) as Json
    } catch {
      return undefined
    }
  }
  return undefined
}
