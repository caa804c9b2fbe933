// What one run of a command may touch, and how a command is declared: its words, its examples and
// the function that does it.
import { Command, InvalidArgumentError } from 'commander'
import type { Clock } from '../index.ts'
import type { Config } from './config.ts'
import { CliError, type ExitCode, exitCodes } from './exit-code.ts'
import type { Output } from './output.ts'

/** How the run ends. */
export interface Ending {
  /** Once a command has said so. */
  exitCode: ExitCode
  /** Ctrl-C waits for what was begun, however long that takes; a second one does not. */
  waits?: boolean
  /** Something was wrong on the way, and told: the run went on, and is no success. */
  failed?: boolean
}

/** Everything outside that a command may touch. */
export interface Session {
  readonly out: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
  /** Aborted by Ctrl-C, SIGTERM, and when nobody reads our output any more. */
  readonly signal: AbortSignal
  readonly now: Clock
  readonly config: Config
  readonly ending: Ending
}

/** A command's file gives one of these. */
export type CommandFactory = (session: Session) => Command

/** What a command says of itself. */
export interface Declaration {
  readonly summary: string
  /** Paragraphs, where the summary does not say it all. */
  readonly details?: readonly string[]
  readonly examples: readonly string[]
}

/** Begins a command whose help shows its examples. */
export function declare(name: string, { summary, details, examples }: Declaration): Command {
  const command = new Command(name)
    .summary(summary)
    .description(details?.join('\n\n') ?? `${summary}.`)
  if (examples.length === 0) return command
  return command.addHelpText(
    'after',
    `\nExamples:\n${examples.map((example) => `  $ ${example}`).join('\n')}`,
  )
}

/** Ties a command to what it does; the options are as its declaration makes them. */
export function act<Options>(
  session: Session,
  run: (options: Options, args: readonly string[]) => Promise<ExitCode>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const options = this.optsWithGlobals<Options & Record<string, unknown>>()
    refuseTwoInputs(options, this.args)
    const exitCode = await run(options, this.args)
    const isMarred = exitCode === exitCodes.ok && session.ending.failed
    session.ending.exitCode = isMarred ? exitCodes.failed : exitCode
  }
}

/** Stdin can be read once: whoever came second would find it empty. */
function refuseTwoInputs(options: Readonly<Record<string, unknown>>, args: readonly string[]) {
  const values = [...args, options.secretFile, options.log].flat()
  if (values.filter((one) => one === '-').length < 2) return
  throw new CliError('USAGE', 'error: - is stdin, and stdin can be read once: give a file')
}

/** The longest that a timer waits: 24.8 days. What is above it would end at once. */
export const mostSeconds = 2_147_483

/** Reads an option that is a number. */
export function numberFrom(least: number, most = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text)
    if (text.trim() !== '' && value >= least && value <= most) return value
    throw new InvalidArgumentError(
      most === Number.MAX_SAFE_INTEGER
        ? `give a number from ${least}`
        : `give a number from ${least} to ${most}`,
    )
  }
}

/** Reads an option that is a whole number. */
export function wholeFrom(least: number, most = Number.MAX_SAFE_INTEGER) {
  const read = numberFrom(least, most)
  return (text: string): number => {
    const value = read(text)
    if (Number.isInteger(value)) return value
    throw new InvalidArgumentError('give a whole number')
  }
}

/** Reads an option that is an http(s) address. */
export function addressFrom(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.href
  throw new InvalidArgumentError('give an address such as http://localhost:3000/webhooks')
}
