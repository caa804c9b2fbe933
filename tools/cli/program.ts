// The command tree: the root with its global options and the commands below it, settings applied.
// Only the command that was called is loaded; the help lists the others by their summaries.
import { Command, Help, Option } from 'commander'
import type { Session } from './session.ts'
import { applySettings, checkKeys, hasOtherKeys, variableOf } from './settings.ts'

/** Set by the build. */
declare const __VERSION__: string

const load = {
  sandbox: async () => (await import('./commands/sandbox.ts')).sandbox,
  send: async () => (await import('./commands/send.ts')).send,
  capture: async () => (await import('./commands/capture.ts')).capture,
  replay: async () => (await import('./commands/replay.ts')).replay,
  verify: async () => (await import('./commands/verify.ts')).verify,
  discover: async () => (await import('./commands/discover.ts')).discover,
  doctor: async () => (await import('./commands/doctor.ts')).doctor,
  reconcile: async () => (await import('./commands/reconcile.ts')).reconcile,
  inbox: async () => (await import('./commands/inbox.ts')).inbox,
  migrate: async () => (await import('./commands/migrate.ts')).migrate,
  mcp: async () => (await import('./commands/mcp.ts')).mcp,
} as const

export const summaries: Readonly<Record<keyof typeof load, string>> = {
  sandbox: 'run the whole service on this machine',
  send: 'send a signed event to an address',
  capture: 'record deliveries as files and forward them',
  replay: 'send captured deliveries again',
  verify: 'check whether a capture is signed with your secret',
  discover: 'find the signature scheme of captured deliveries',
  doctor: 'test a running receiver and explain what is wrong',
  reconcile: 'find missed events and put them into the inbox',
  inbox: 'list, retry and erase the entries of an inbox',
  migrate: 'migrate from the legacy event names to the current ones',
  mcp: 'serve an inbox to coding agents (MCP), read only',
}

export async function createProgram(session: Session, wanted: string | undefined) {
  const { config } = session
  const root = await treeOf(session, wanted)
  applySettings(root, session)
  // An unknown key of the config file is an error of every command; all commands are loaded only to
  // check a doubtful key.
  checkKeys(config, hasOtherKeys(config, root) ? await treeOf(session, undefined) : root)
  return root
}

async function treeOf(session: Session, wanted: string | undefined): Promise<Command> {
  const root = rootCommand(session)
  for (const name of Object.keys(load) as (keyof typeof load)[]) {
    const isLoaded = wanted === undefined || name === wanted
    const command = isLoaded ? (await load[name]())(session) : new Command(name)
    root.addCommand(command.summary(summaries[name]))
    adopt(command, root)
  }
  return root
}

const ending = [
  'Data goes to stdout, messages go to stderr. --json prints one JSON object per line.',
  'An option with a value is also an environment variable (--to is IDV_TO) and a key of idv-webhooks.config.{ts,mts,js,mjs,json}. Flags override the environment, which overrides the file. --yes, --write, --force and --raw have no environment variable.',
  'Secrets are never arguments: use WEBHOOK_SECRET, IDV_API_KEY, a file or stdin.',
  'Exit codes: 0 ok, 1 failed or differences found, 2 usage, 130 interrupted.',
]

function rootCommand({ out, stdout }: Session): Command {
  const wrapped = (text: string) => new Help().boxWrap(text, stdout.columns ?? 80)
  return new Command('idv-webhooks')
    .description(
      'Webhooks of an identity verification service: send, record, verify, debug, migrate.',
    )
    .usage('<command> [options]')
    .option('--json', 'print one JSON object per line on stdout')
    .option('--config <file>', 'config file (default: ./idv-webhooks.config.*)')
    .option('--no-color', 'print without color, like NO_COLOR')
    .option('--map', 'print every command with its options as JSON')
    .version(__VERSION__, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .configureHelp({ showGlobalOptions: true, optionDescription, minWidthToWrap: 20 })
    .configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => out.say(text.trimEnd()),
      // main.ts reports usage errors.
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText('after', () => ending.map((one) => `\n${wrapped(one)}`).join(''))
}

/** Omits the variable: the help of the root explains the rule for all of them. */
function optionDescription(option: Option): string {
  const shown = new Option(option.flags, option.description)
  if (option.argChoices) shown.choices([...option.argChoices])
  if (!option.isBoolean()) shown.default(option.defaultValue, option.defaultValueDescription)
  return new Help().optionDescription(shown)
}

/** Applies the settings of its parent to a command, as `.command()` does. */
function adopt(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent)
  for (const sub of command.commands) adopt(sub, command)
}

export function mapOf(command: Command): object {
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    arguments: command.registeredArguments.map((one) => ({
      name: one.name(),
      required: one.required,
    })),
    options: command.options.map((one) => ({
      flags: one.flags,
      description: one.description,
      variable: variableOf(command, one),
      choices: one.argChoices,
    })),
    commands: command.commands.map(mapOf),
  }
}
