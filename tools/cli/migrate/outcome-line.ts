// Finds the outcomes that logOutcomes() wrote in a log line; a log shipper may have added text around
// one, put it into a field of its own JSON, or put many into one line.
import { endOfString } from '../../../src/foundation/json.ts'

/** The outcome of one delivery, as far as it is needed. */
export interface SeenOutcome {
  readonly at: Date
  readonly receivedName?: string
  readonly secretId?: string
}

type JsonObject = Readonly<Record<string, unknown>>

/**
 * Matches outcomes, also inside a JSON string; those of a table with doubled quotes stay unread. It
 * begins at the first backslash of a run alone: a line of a stranger's may have thousands.
 */
const ofOutcome = /(?<!\\)\\*"{1,2}type\\*"{1,2}\s*:\s*\\*"{1,2}outcome\\*"/g
/** A line has few braces that begin no object. */
const maxBraces = 32

/** The outcomes of a line. */
export interface LineOutcomes {
  /** Of deliveries that were proved. */
  readonly seen: readonly SeenOutcome[]
  /** So many could not be read. */
  readonly unread: number
}

const none: LineOutcomes = { seen: [], unread: 0 }

/** Reads every outcome of a line. */
export function outcomesIn(line: string): LineOutcomes {
  const many = line.match(ofOutcome)?.length
  if (many === undefined) return none
  const found = [...outcomesOf(line)]
  const read = found.map((json) => readOutcome(json))
  const broken = read.filter((one) => one === 'unread').length
  return {
    seen: read.filter((one) => one !== 'unread' && one !== undefined) as readonly SeenOutcome[],
    unread: Math.max(0, many - found.length) + broken,
  }
}

function readOutcome(json: JsonObject): SeenOutcome | 'unread' | undefined {
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

/** No shipper nests deeper; what stands there is counted as unread. */
const maxDepth = 32

/** The outcomes in a text, in its objects and in what they contain. */
function* outcomesOf(text: string, depth = 0): Generator<JsonObject> {
  let at = text.indexOf('{')
  for (let failed = 0; at !== -1 && failed < maxBraces; ) {
    const object = objectAt(text, at)
    if (object) yield* within(object.json, depth)
    else failed += 1
    at = text.indexOf('{', object ? object.end : at + 1)
  }
}

function* within(json: JsonObject, depth: number): Generator<JsonObject> {
  if (json.type === 'outcome') {
    yield json
    return
  }
  if (depth === maxDepth) return
  for (const value of Object.values(json)) {
    if (typeof value === 'string') yield* outcomesOf(value, depth + 1)
    else if (typeof value === 'object' && value !== null) {
      yield* within(value as JsonObject, depth + 1)
    }
  }
}

/** The JSON object that starts at a brace, and where it ends. */
function objectAt(
  text: string,
  start: number,
): { readonly json: JsonObject; readonly end: number } | undefined {
  const token = /["{}]/g
  token.lastIndex = start
  let depth = 0
  for (let part = token.exec(text); part; part = token.exec(text)) {
    // A text that nothing closes goes to the end of the line, or each of its quotes would begin another.
    if (part[0] === '"') token.lastIndex = endOfString(text, part.index)
    else if (part[0] === '{') depth += 1
    else depth -= 1
    if (depth > 0) continue
    const end = token.lastIndex
    try {
      return { json: JSON.parse(text.slice(start, end)) as JsonObject, end }
    } catch {
      return undefined
    }
  }
  return undefined
}
