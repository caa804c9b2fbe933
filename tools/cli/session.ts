// The session of a command, how a command is declared, and how a person confirms what cannot be
// undone.
import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Command } from 'commander'
import type { Clock } from '../../src/index.ts'
import { CliError, type ExitCode, exitCodes, usageError } from './exit-code.ts'
import type { Output, TextStream } from './output.ts'
import type { Config } from './settings.ts'

export interface RunEnding {
  exitCode: ExitCode
  /** True if Ctrl-C waits for the change in progress; a second Ctrl-C does not wait. */
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
  readonly ending: RunEnding
}

export interface Declaration {
  /** Its line in the list of commands; a top-level command has it in the table of program.ts. */
  readonly summary?: string
  /** Paragraphs of its help; the summary by default. */
  readonly details?: string | readonly string[]
  readonly examples: readonly string[]
}

export function declare(
  name: string,
  { summary = '', details = `${summary}.`, examples }: Declaration,
): Command {
  const list = examples.map((example) => `  $ idv-webhooks ${example}`).join('\n')
  const command = new Command(name).summary(summary).description([details].flat().join('\n\n'))
  return command.addHelpText('after', `\nExamples:\n${list}`)
}

export type CommandRun<Options> = (
  session: Session,
  options: Options,
  args: readonly string[],
) => Promise<ExitCode>

export function act<Options>(session: Session, run: CommandRun<Options>) {
  return async function (this: Command): Promise<void> {
    const options = this.optsWithGlobals<Options & Record<string, unknown>>()
    refuseTwoInputs(options, this.args)
    const exitCode = await run(session, options, this.args)
    const hadFault = exitCode === exitCodes.ok && session.ending.failed
    session.ending.exitCode = hadFault ? exitCodes.failed : exitCode
  }
}

/** Stdin can be read only once: a second reader would find it empty. */
function refuseTwoInputs(options: Readonly<Record<string, unknown>>, args: readonly string[]) {
  const values = [...args, options.secretFile, options.log, options.file].flat()
  if (values.filter((one) => one === '-').length < 2) return
  throw usageError('stdin (-) can be read only once: pass a file')
}

/** Continues only when confirmed; `warning` says what happens. */
export async function needConsent(
  session: Session,
  { yes }: { readonly yes?: boolean },
  warning: string,
): Promise<void> {
  const { stdin, stderr, out } = session
  if (yes) return
  if (!stdin.isTTY || !stderr.isTTY || out.json) {
    throw new CliError('CONSENT_MISSING', `${warning}: pass --yes to confirm`)
  }
  const reply = await ask(session, `${warning}. Type yes to continue: `)
  if (reply.trim().toLowerCase() !== 'yes') {
    throw new CliError('CONSENT_MISSING', 'aborted: not confirmed')
  }
}

/** Asks without terminal mode, so that Ctrl-C stays a signal; the end of the input is a refusal. */
async function ask({ stdin, stderr, signal }: Session, question: string): Promise<string> {
  const line = createInterface({ input: stdin, output: stderr, terminal: false })
  const ended = once(line, 'close').then(() => '')
  try {
    return await Promise.race([line.question(question, { signal }), ended])
  } finally {
    line.close()
  }
}
