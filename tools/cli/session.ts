// The session of a command, and how a command is declared: its texts, examples and function.
import { Command, InvalidArgumentError } from 'commander'
import type { Clock } from '../../src/index.ts'
import type { Config } from './config.ts'
import { CliError, type ExitCode, exitCodes } from './exit-code.ts'
import type { Output, TextStream } from './output.ts'

/** How the run ends. */
export interface Ending {
  /** Set by the command. */
  exitCode: ExitCode
  /** Ctrl-C waits for the change in progress; a second one does not. */
  waits?: boolean
  /** A problem was reported and the run continued; it exits 1. */
  failed?: boolean
}

/** Everything outside of the program that a command may use. */
export interface Session {
  readonly out: Output
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly stdin: NodeJS.ReadStream
  readonly stdout: TextStream
  readonly stderr: TextStream
  /** Aborted by Ctrl-C, SIGTERM and SIGHUP. */
  readonly signal: AbortSignal
  readonly now: Clock
  readonly config: Config
  readonly ending: Ending
}

/** The export of a command's file. */
export type CommandFactory = (session: Session) => Command

/** The texts of a command. */
export interface Declaration {
  readonly summary: string
  /** Paragraphs of its help; the summary by default. */
  readonly details?: readonly string[]
  readonly examples: readonly string[]
}

/** Creates a command whose help shows examples. */
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

/** Connects a command to the function that runs it. */
export function act<Options>(
  session: Session,
  run: (options: Options, args: readonly string[]) => Promise<ExitCode>,
): (this: Command) => Promise<void> {
  return async function (this: Command) {
    const options = this.optsWithGlobals<Options & Record<string, unknown>>()
    refuseTwoInputs(options, this.args)
    const exitCode = await run(options, this.args)
    const hadFault = exitCode === exitCodes.ok && session.ending.failed
    session.ending.exitCode = hadFault ? exitCodes.failed : exitCode
  }
}

/** Stdin can be read only once: a second reader would find it empty. */
function refuseTwoInputs(options: Readonly<Record<string, unknown>>, args: readonly string[]) {
  const values = [...args, options.secretFile, options.log, options.file].flat()
  if (values.filter((one) => one === '-').length < 2) return
  throw new CliError('USAGE', 'stdin (-) can be read only once: pass a file')
}

/** The longest time that a timer waits: 24.8 days. Beyond it a timer fires immediately. */
export const mostSeconds = 2_147_483

/** Reads an option that is a number. */
export function numberFrom(least: number, most = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text)
    if (text.trim() !== '' && value >= least && value <= most) return value
    throw new InvalidArgumentError(
      most === Number.MAX_SAFE_INTEGER
        ? `Pass a number, ${least} or more.`
        : `Pass a number from ${least} to ${most}.`,
    )
  }
}

/** Reads an option that is a whole number. */
export function wholeFrom(least: number, most = Number.MAX_SAFE_INTEGER) {
  const read = numberFrom(least, most)
  return (text: string): number => {
    const value = read(text)
    if (Number.isInteger(value)) return value
    throw new InvalidArgumentError('Pass a whole number.')
  }
}

/** Reads an option that is an http(s) address. */
export function addressFrom(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.href
  throw new InvalidArgumentError('Pass an address such as http://localhost:3000/webhooks.')
}
