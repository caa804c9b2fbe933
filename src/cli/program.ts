// The command tree: the root with its global options, the commands below it, settings applied.
// Only the command that was called is loaded; the others stand in the help by their summaries.
import { Command, Help, Option } from 'commander'
import { commands } from './commands.ts'
import type { Session } from './session.ts'
import { applySettings, checkKeys, unknownKeys, variableOf } from './settings.ts'

/** Written in by the build. */
declare const __VERSION__: string

const ending = `
Data goes to stdout, text for people to stderr; --json gives one JSON object a line.
Options that take a value are also variables (--to is IDV_TO), and options are keys of
idv-webhooks.config.{ts,mts,js,mjs,json}, but those that consent (--yes, --write, --force,
--raw); flags win over the environment, which wins over the file.
Secrets are never arguments: WEBHOOK_SECRET, IDV_API_KEY, a file or stdin.

Exit codes: 0 ok, 1 failed or differences found, 2 usage, 130 interrupted.`

/** Makes the whole tree; `wanted` are the commands to load, all when undefined. */
export async function createProgram(
  session: Session,
  wanted: readonly string[] | undefined,
): Promise<Command> {
  const root = await treeOf(session, wanted)
  applySettings(root, session)
  // A misspelt key is told whichever command is called; one that is in doubt is worth loading all.
  const inDoubt = wanted !== undefined && unknownKeys(session.config, root).length > 0
  checkKeys(session.config, inDoubt ? await treeOf(session, undefined) : root)
  return root
}

async function treeOf(session: Session, wanted: readonly string[] | undefined): Promise<Command> {
  const root = rootCommand(session)
  for (const { name, summary, load } of commands) {
    const isWanted = wanted === undefined || wanted.includes(name)
    const command = isWanted ? (await load())(session) : new Command(name).summary(summary)
    root.addCommand(command)
    adopt(command, root)
  }
  return root
}

function rootCommand({ out }: Session): Command {
  return new Command('idv-webhooks')
    .description('Webhooks of an identity verification service: send, record, prove, migrate.')
    .usage('<command> [options]')
    .option('--json', 'one JSON object a line on stdout')
    .option('--config <file>', 'config file, instead of ./idv-webhooks.config.{ts,mts,js,mjs,json}')
    .option('--no-color', 'no colour (NO_COLOR does the same)')
    .option('--map', 'print every command with its options as JSON')
    .version(__VERSION__, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .configureHelp({ showGlobalOptions: true, optionDescription })
    .configureOutput({
      writeOut: (text) => process.stdout.write(text),
      writeErr: (text) => out.say(text.trimEnd()),
      // Usage errors are told once, by whoever called.
      outputError: () => {},
    })
    .exitOverride()
    .addHelpText('after', ending)
}

/** Without the variable: all follow one rule, which the help of the root tells. */
function optionDescription(option: Option): string {
  const shown = new Option(option.flags, option.description)
  if (option.argChoices) shown.choices([...option.argChoices])
  if (!option.isBoolean()) shown.default(option.defaultValue, option.defaultValueDescription)
  return new Help().optionDescription(shown)
}

/** Hands a command the settings of its parent, as `.command()` would have. */
function adopt(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent)
  for (const sub of command.commands) adopt(sub, command)
}

/** A command as data, for programs that look for the right one. */
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

/** Describes a command and all below it. */
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
