// The command tree: the root with its global options and the commands below it, settings applied.
// Only the command that was called is loaded; the help lists the others by their summaries.
import { Command, Help, Option } from 'commander'
import { commands } from './commands.ts'
import type { TextStream } from './output.ts'
import type { Session } from './session.ts'
import { applySettings, checkKeys, unknownKeys, variableOf } from './settings.ts'

/** Set by the build. */
declare const __VERSION__: string

const ending = [
  'Data goes to stdout, messages go to stderr. --json prints one JSON object per line.',
  'An option with a value is also an environment variable (--to is IDV_TO) and a key of idv-webhooks.config.{ts,mts,js,mjs,json}. Flags override the environment, which overrides the file. Options that confirm something (--yes, --write, --force, --raw) are flags only.',
  'Secrets are never arguments: use WEBHOOK_SECRET, IDV_API_KEY, a file or stdin.',
  'Exit codes: 0 ok, 1 failed or differences found, 2 usage, 130 interrupted.',
]

/** Creates the command tree; `wanted` are the commands to load, undefined loads all. */
export async function createProgram(
  session: Session,
  wanted: readonly string[] | undefined,
): Promise<Command> {
  const root = await treeOf(session, wanted)
  applySettings(root, session)
  // A misspelt key is an error of every command; all are loaded only to check a doubtful one.
  const inDoubt = wanted !== undefined && unknownKeys(session.config, root).length > 0
  checkKeys(session.config, inDoubt ? await treeOf(session, undefined) : root)
  return root
}

async function treeOf(session: Session, wanted: readonly string[] | undefined): Promise<Command> {
  const root = rootCommand(session)
  for (const { name, summary, load } of commands) {
    const isLoaded = wanted === undefined || wanted.includes(name)
    const command = isLoaded ? (await load())(session) : new Command(name).summary(summary)
    root.addCommand(command)
    adopt(command, root)
  }
  return root
}

function rootCommand({ out, stdout }: Session): Command {
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
    .addHelpText('after', () => ending.map((one) => `\n${wrapped(one, stdout)}`).join(''))
}

/** Wraps a paragraph to the width of the terminal. */
function wrapped(paragraph: string, { columns = 80 }: TextStream): string {
  return new Help().boxWrap(paragraph, columns)
}

/** Without the variable: the help of the root explains the rule for all of them. */
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

/** A command as data, for programs. */
export interface CommandMap {
  readonly name: string
  readonly summary: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
  readonly options: readonly {
    readonly flags: string
    readonly description: string
    readonly variable?: string
    readonly choices?: readonly string[]
  }[]
  readonly commands: readonly CommandMap[]
}

/** Describes a command and its subcommands. */
export function mapOf(command: Command): CommandMap {
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    arguments: command.registeredArguments.map((one) => ({
      name: one.name(),
      required: one.required,
    })),
    options: command.options.map((one) => {
      const variable = variableOf(command, one)
      return {
        flags: one.flags,
        description: one.description,
        ...(variable !== undefined && { variable }),
        ...(one.argChoices && { choices: one.argChoices }),
      }
    }),
    commands: command.commands.map(mapOf),
  }
}
