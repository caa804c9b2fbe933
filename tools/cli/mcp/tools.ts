// The tools of the MCP server: for each its arguments and the inside of the command that it calls.
// None changes an inbox, and none shows a payload that is not masked.
import { defined } from '../../../src/foundation/defined.ts'
import { canonicalName } from '../../../src/protocol/index.ts'
import { discoverScheme } from '../commands/discover.ts'
import { runDoctor } from '../commands/doctor.ts'
import { verifyCaptures } from '../commands/verify.ts'
import { CliError } from '../exit-code.ts'
import { type InboxChoice, withInbox } from '../inbox/find-inbox.ts'
import { entryOf, entryRecord, entryStates, maskedDelivery } from '../inbox/print-entry.ts'
import { addressFrom } from '../option-values.ts'
import type { Output } from '../output.ts'
import type { CliLine } from '../records.ts'
import type { SchemeChoice } from '../schemes.ts'
import type { SecretOptions } from '../secrets.ts'
import type { Session } from '../session.ts'

/** The inbox, address and secret that the tools use: chosen at the start, never by the agent. */
export interface McpOptions extends InboxChoice, SecretOptions, SchemeChoice {
  readonly to?: string
}

/** The arguments of a call, which the server has checked against the properties. */
export type ToolArguments = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A tool as the server lists it. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly properties: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  /** It makes requests. */
  readonly sends?: boolean
  run(session: Session, options: McpOptions, given: ToolArguments): Promise<object>
}

/** Characters of a payload that are shown. */
const maxPayload = 20_000

const textArgument = (description: string) => ({ type: 'string', minLength: 1, description })

const inboxTools: readonly Tool[] = [
  {
    name: 'inbox_find',
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
    run: (session, options, given) =>
      withInbox(session, options, async ({ inbox }) => {
        const { entries, cursor } = await inbox.find({ limit: 20, ...filterOf(given) })
        return { entries: entries.map(entryRecord), ...defined({ cursor }) }
      }),
  },
  {
    name: 'inbox_show',
    title: 'Show an entry',
    description:
      'Shows one entry of the inbox: its state, failures, which handlers have succeeded, and its payload with every value masked that may be about a person.',
    properties: { id: textArgument('The id of the entry, or how it begins.') },
    required: ['id'],
    run: (session, options, given) =>
      withInbox(session, options, async ({ inbox }) => {
        const entry = await entryOf(inbox, String(given.id), { withDelivery: true })
        if (!entry) {
          const message = 'the inbox has no entry with this id: inbox_find lists the ids'
          throw new CliError('ENTRY_MISSING', message)
        }
        if (!entry.delivery) return entryRecord(entry)
        const { payload } = await maskedDelivery(entry.delivery)
        return {
          ...entryRecord(entry),
          payload: payload.slice(0, maxPayload),
          masked: true,
          ...(payload.length > maxPayload && { truncated: true }),
        }
      }),
  },
  {
    name: 'inbox_stats',
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
    run: (session, options, { target, since }) =>
      withInbox(session, options, async ({ inbox }) =>
        inbox.stats({
          target: typeof target === 'number' ? target : 60_000,
          ...(since !== undefined && { since: String(since) }),
        }),
      ),
  },
]

/** A legacy name finds entries with the current name. */
function filterOf({ name, ...given }: ToolArguments): object {
  return name === undefined ? given : { ...given, name: canonicalName(String(name)) }
}

const captures = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  minItems: 1,
  description: 'Capture files, or folders of them, as `idv-webhooks capture` writes them.',
}

export const tools: readonly Tool[] = [
  ...inboxTools,
  {
    name: 'verify',
    title: 'Verify captures',
    description:
      'Checks offline whether captured deliveries are signed with the configured secret, and if not, gives the proved cause and how to fix it.',
    properties: {
      captures,
      at: textArgument(
        'Time to compare a signed time with: `now` or ISO 8601. Default: when it was received.',
      ),
    },
    required: ['captures'],
    run: (session, options, given) => {
      const { secretFile, scheme } = options
      const chosen = defined({ secretFile, scheme, at: textOf(given, 'at') })
      return record(session, (recording) => verifyCaptures(recording, chosen, pathsOf(given)))
    },
  },
  {
    name: 'discover',
    title: 'Discover a signature scheme',
    description:
      'Finds the one signature scheme that verifies all captured deliveries with the configured secret, as code to paste. Needs captures that are not redacted, of two different events.',
    properties: {
      captures,
      header: textArgument('The signature header, if there are several.'),
      url: textArgument('The address that the sender used, if it is signed.'),
    },
    required: ['captures'],
    run: (session, { secretFile }, given) => {
      const [header, url] = [textOf(given, 'header'), textOf(given, 'url')]
      const chosen = defined({ secretFile, header, url })
      return record(session, (recording) => discoverScheme(recording, chosen, pathsOf(given)))
    },
  },
  {
    name: 'doctor',
    title: 'Test a running receiver',
    description:
      'Sends signed and forged probes to a running receiver and explains which guarantee does not hold, with the fix for its framework. Also checks Node, the secret and the inbox. A receiver of idv-webhooks handles and keeps none of the probes.',
    properties: {
      to: textArgument(
        'Address of the receiver: the one that the server was started with (the default), or one of this machine.',
      ),
      timeout: { type: 'number', exclusiveMinimum: 0, maximum: 120, description: 'Seconds.' },
      leaveNothing: {
        type: 'boolean',
        description: 'Send only what must be refused, for receivers that keep unknown events.',
      },
    },
    sends: true,
    run: (session, options, given) => {
      const { inbox, secretFile, scheme } = options
      const to = addressOf(options, textOf(given, 'to'))
      const leaveNothing = given.leaveNothing === true
      const timeout = typeof given.timeout === 'number' ? given.timeout : 15
      const chosen = { ...defined({ to, inbox, secretFile, scheme }), leaveNothing, timeout }
      return record(session, (recording) => runDoctor(recording, chosen))
    },
  },
]

function textOf(given: ToolArguments, name: string): string | undefined {
  const value = given[name]
  return typeof value === 'string' ? value : undefined
}

function pathsOf({ captures: paths }: ToolArguments): readonly string[] {
  const list = Array.isArray(paths) ? (paths as readonly string[]) : []
  if (!list.includes('-')) return list
  throw new CliError('USAGE', 'stdin carries the protocol: pass files or folders of captures')
}

/** Allows addresses of this machine, and the one that the person who started the server chose. */
function addressOf({ to }: McpOptions, asked: string | undefined): string | undefined {
  if (asked === undefined) return to
  if (!URL.canParse(asked)) {
    throw new CliError('USAGE', 'to must be an address such as http://localhost:3000/webhooks')
  }
  const address = addressFrom(asked)
  const { hostname } = new URL(address)
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (isLocal || address === to) return address
  throw new CliError(
    'ADDRESS_NOT_ALLOWED',
    `doctor tests only addresses of this machine${to === undefined ? '' : ` and ${to}`}: start the server with idv-webhooks mcp --to <url> to allow another`,
  )
}

/** Runs the inside of a command, and returns what it prints as values. */
async function record(session: Session, run: (session: Session) => Promise<number>) {
  const lines: CliLine[] = []
  const notes: string[] = []
  const out: Output = {
    json: true,
    terminal: false,
    data: () => {},
    record: (line) => lines.push(line),
    say: (line) => notes.push(line),
    progress: () => {},
    paint: (_, text) => text,
    tint: (_, text) => text,
  }
  const exitCode = await run({ ...session, out, ending: { exitCode: 0 } })
  return { ok: exitCode === 0, lines, notes }
}
