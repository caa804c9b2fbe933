// mcp: a server of the Model Context Protocol on stdin and stdout, for coding agents. It only reads:
// its tools find and show entries and count them; none changes an inbox or shows a payload.
import { once } from 'node:events'
import { type CallToolResult, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { defined } from '../../../src/foundation/defined.ts'
import type { Inbox } from '../../../src/inbox/index.ts'
import { canonicalName } from '../../../src/protocol/index.ts'
import { CliError, exitCodes, failureOf } from '../exit-code.ts'
import { type InboxChoice, inboxOption, withInbox } from '../inbox/find-inbox.ts'
import { entryOf, entryRecord, entryStates, maskedDelivery } from '../inbox/print-entry.ts'
import { act, declare, type Session } from '../session.ts'

export const mcp = (session: Session) =>
  declare('mcp', {
    details:
      'A server of the Model Context Protocol on stdin and stdout; a client such as an editor starts it. Its tools are inbox_find, inbox_show and inbox_stats. They change nothing, and payloads are always masked. The inbox is chosen here, not by the agent.',
    examples: ['mcp --inbox inbox.db'],
  })
    .addOption(inboxOption())
    .action(act(session, run))

/** Serves until stdin ends or the run is interrupted. */
async function run(session: Session, options: InboxChoice) {
  const { out, stdin, stdout, signal } = session
  if (stdin.isTTY) out.say('an MCP client must start this command; Ctrl-D ends it')
  const transport = new StdioServerTransport(stdin, stdout)
  const handle = serveStdio(() => createServer(session, options), { transport })
  await once(stdin, 'close', { signal }).catch(() => {})
  await handle.close()
  return exitCodes.ok
}

/** Set by the build. */
declare const __VERSION__: string

const instructions =
  'Reads the webhook inbox of an identity verification receiver. Nothing is changed, and payloads are masked. To change entries a person runs `idv-webhooks inbox`.'

/** The arguments of a call, which the server has checked against the properties. */
type ToolArguments = Readonly<Record<string, string | number | boolean | readonly string[]>>

interface Tool {
  readonly title: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly properties: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  run(inbox: Inbox, given: ToolArguments): Promise<object>
}

function createServer(session: Session, options: InboxChoice): McpServer {
  const server = new McpServer({ name: 'idv-webhooks', version: __VERSION__ }, { instructions })
  for (const [name, { title, description, properties, required = [], run }] of Object.entries(
    tools,
  )) {
    const schema = { type: 'object', properties, required, additionalProperties: false } as const
    const inputSchema = fromJsonSchema<ToolArguments>(schema)
    const annotations = { readOnlyHint: true, openWorldHint: false }
    const call = async (given: ToolArguments): Promise<CallToolResult> => {
      try {
        const result = await withInbox(session, options, ({ inbox }) => run(inbox, given))
        // Dates become text, as in --json.
        const text = JSON.stringify(result)
        return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) }
      } catch (error) {
        const args = Object.values(given).flat().map(String)
        const { code, message } = failureOf(error, { signal: session.signal, args })
        return { isError: true, content: [{ type: 'text', text: `${code}: ${message}` }] }
      }
    }
    server.registerTool(name, { title, description, inputSchema, annotations }, call)
  }
  return server
}

/** Characters of a payload that are shown. */
const maxPayload = 20_000

const textArgument = (description: string) => ({ type: 'string', minLength: 1, description })

const tools: Readonly<Record<string, Tool>> = {
  inbox_find: {
    title: 'Find entries',
    description:
      'Lists entries of the inbox, newest first, without their payloads: state, event, entity, attempts, reason, failures. Dead letters: state `dead`.',
    properties: {
      state: {
        type: 'array',
        items: { type: 'string', enum: [...entryStates] },
        description: 'Only these states.',
      },
      name: textArgument('Only this event, e.g. verification.approved.'),
      entity: textArgument('Only about this entity: verification:<id> or client:<id>.'),
      tenant: textArgument('Only of this tenant.'),
      since: textArgument('Only received since: ISO 8601.'),
      search: textArgument('Part of the id or name of an entry, or the id of its event or entity.'),
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Default 20.' },
      cursor: textArgument('Continue where the previous page ended.'),
    },
    async run(inbox, { name, ...given }) {
      // A legacy name finds entries with the current name.
      const named = name === undefined ? {} : { name: canonicalName(String(name)) }
      const { entries, cursor } = await inbox.find({ limit: 20, ...given, ...named })
      return { entries: entries.map(entryRecord), ...defined({ cursor }) }
    },
  },
  inbox_show: {
    title: 'Show an entry',
    description:
      'Shows one entry of the inbox: its state, failures, which handlers have succeeded, and its payload with every value masked that may be about a person.',
    properties: { id: textArgument('The id of the entry, or how it begins.') },
    required: ['id'],
    async run(inbox, { id }) {
      const entry = await entryOf(inbox, String(id), { withDelivery: true })
      if (!entry) {
        const message = 'the inbox has no entry with this id: inbox_find lists the ids'
        throw new CliError('ENTRY_MISSING', message)
      }
      if (!entry.delivery) return entryRecord(entry)
      const { payload } = await maskedDelivery(entry.delivery)
      const shown = { payload: payload.slice(0, maxPayload), masked: true }
      const isCut = payload.length > maxPayload
      return { ...entryRecord(entry), ...shown, ...(isCut && { truncated: true }) }
    },
  },
  inbox_stats: {
    title: 'Statistics of the inbox',
    description:
      'Counts entries by state, and says how far behind the handlers are: milliseconds since the oldest open entry was kept (oldestAge), and by which the longest waiting one is overdue (lag). For each handler: percentiles of the milliseconds from an event’s occurrence to done, and the share within the target.',
    properties: {
      target: {
        type: 'integer',
        minimum: 1,
        maximum: 2_147_483_647,
        description: 'Milliseconds within which an event should be done. Default 60000.',
      },
      since: textArgument('Only entries done since: ISO 8601. Default: 24 hours ago.'),
    },
    run: (inbox, { target, since }) =>
      inbox.stats({
        target: typeof target === 'number' ? target : 60_000,
        ...(since !== undefined && { since: String(since) }),
      }),
  },
}
