// The tools: for each its arguments and the inside of the command that it calls. None changes an
// inbox, and none shows a payload that is not masked.
import { defined } from '../../../src/foundation/defined.ts'
import { discoverScheme } from '../commands/discover.ts'
import { runDoctor } from '../commands/doctor.ts'
import { verifyCaptures } from '../commands/verify.ts'
import { CliError } from '../exit-code.ts'
import { addressFrom } from '../session.ts'
import { inboxTools } from './inbox-tools.ts'
import { record } from './recording.ts'
import type { Given, McpOptions, Tool } from './tool.ts'

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
      at: {
        type: 'string',
        description:
          'Time to compare a signed time with: `now` or ISO 8601. Default: when it was received.',
      },
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
      header: { type: 'string', description: 'The signature header, if there are several.' },
      url: { type: 'string', description: 'The address that the sender used, if it is signed.' },
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
      to: {
        type: 'string',
        description:
          'Address of the receiver: the one that the server was started with (the default), or one of this machine.',
      },
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

function textOf(given: Given, name: string): string | undefined {
  const value = given[name]
  return typeof value === 'string' ? value : undefined
}

function pathsOf({ captures: paths }: Given): readonly string[] {
  const list = Array.isArray(paths) ? (paths as readonly string[]) : []
  if (!list.includes('-')) return list
  throw new CliError('USAGE', 'stdin carries the protocol: pass files or folders of captures')
}

/** Signed probes go nowhere that the person who started the server did not choose. */
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
