// One run from arguments to exit code: signals, settings, the command, and its outcome.
import { writeSync } from 'node:fs'
import { CommanderError } from 'commander'
import { commands } from './commands.ts'
import { loadConfig } from './config.ts'
import { type ExitCode, exitCodes } from './exit-code.ts'
import { createOutput, type Output, printable, type TextStream } from './output.ts'
import { createProgram, mapOf } from './program.ts'
import { refuseSecretArguments } from './secrets.ts'
import type { Ending, Session } from './session.ts'
import { type FailedRun, failureOf } from './usage-error.ts'

/** Options that are read before the arguments are parsed. */
interface EarlyOptions {
  readonly json: boolean
  readonly color: boolean
  readonly config: string | undefined
  readonly operands: readonly string[]
  /** The run only prints what the program knows about itself. */
  readonly helpOnly: boolean
}

/** Runs the command line of this process; sets the exit code and never exits while output is pending. */
export async function main(): Promise<void> {
  const { env, stdin, stdout, stderr } = process
  const ending: Ending = { exitCode: exitCodes.ok }
  const signal = interruption(ending)
  const args = process.argv.slice(2)
  const input = { args, env, cwd: process.cwd(), stdin, stdout, stderr, signal, ending }
  const ended = expectEnd(stderr)
  process.exitCode = await runIn(input)
  ended()
}

/** A run that waits for what cannot come, such as a promise of the config file, has not succeeded. */
function expectEnd(stderr: TextStream): () => void {
  const stuck = () => {
    process.exitCode = exitCodes.failed
    stderr.write('error: the run ended without a result: check `await` in the config file\n')
  }
  process.once('beforeExit', stuck)
  return () => void process.off('beforeExit', stuck)
}

/** The parts of a session that come from outside, and the arguments. */
export type RunInput = Pick<
  Session,
  'env' | 'cwd' | 'stdin' | 'stdout' | 'stderr' | 'signal' | 'ending'
> & { readonly args: readonly string[] }

/** Runs a command line to its exit code; touches nothing of the process. @public */
export async function runIn(input: RunInput): Promise<ExitCode> {
  const { args, signal, ending } = input
  const early = readEarly(args)
  const out = createOutput({ ...input, json: early.json, color: early.color })
  try {
    refuseSecretArguments(args)
    await run(await createSession(early, input, out), args, early)
    return signal.aborted ? exitCodes.interrupted : ending.exitCode
  } catch (error) {
    return reportFailure(error, out, { signal, args })
  }
}

async function createSession(early: EarlyOptions, input: RunInput, out: Output): Promise<Session> {
  const { args: _, ...around } = input
  const { cwd, env } = around
  // Help must work even when the config file is broken.
  const config = early.helpOnly
    ? { values: {} }
    : await loadConfig(cwd, early.config ?? (env.IDV_CONFIG || undefined))
  // The only place of the command line that reads the clock.
  return { ...around, out, config, now: () => new Date() }
}

async function run(session: Session, args: readonly string[], early: EarlyOptions): Promise<void> {
  const [first, second] = early.operands
  const name = first === 'help' ? second : first
  const isKnown = commands.some((command) => command.name === name)
  const needsAll = name === 'completion' || name === 'config' || args.includes('--map')
  const program = await createProgram(session, needsAll ? undefined : isKnown ? [name ?? ''] : [])
  if (args.includes('--map')) {
    session.stdout.write(`${JSON.stringify(mapOf(program), null, 2)}\n`)
  } else if (args.length === 0) {
    session.out.say(program.helpInformation().trimEnd())
    session.ending.exitCode = exitCodes.usage
  } else {
    await program.parseAsync(helpLast(args), { from: 'user' })
  }
}

/** `help inbox redrive` as `inbox redrive --help`: commander reads one name after `help`. */
function helpLast(args: readonly string[]): string[] {
  return args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : [...args]
}

/** Reads the few options that count before parsing; commander reads them again later. */
function readEarly(args: readonly string[]): EarlyOptions {
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  const spaced = own.indexOf('--config')
  const joined = own.find((arg) => arg.startsWith('--config='))?.slice('--config='.length)
  return {
    json: own.includes('--json'),
    color: !own.includes('--no-color'),
    config: spaced === -1 ? joined : own[spaced + 1],
    helpOnly: own.some((arg) => /^(-h|--help|-V|--version|--map|help|completion)$/.test(arg)),
    operands: own.filter(
      (arg, at) => !arg.startsWith('-') && !(spaced !== -1 && at === spaced + 1),
    ),
  }
}

/** Ctrl-C and the like end a run in order, a second one immediately; so does a closed pipe. */
function interruption(ending: Ending): AbortSignal {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted)
    controller.abort()
    const end = () => {
      if (!ending.waits) process.exit(exitCodes.interrupted)
    }
    setTimeout(end, 3000).unref()
  }
  // A terminal that is closed sends SIGHUP.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop)
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCodes.failed)
      // The broken stream cannot carry the message; the other one may work.
      if (stream === process.stdout) reportBrokenOutput(error)
      process.exit(exitCodes.failed)
    })
  }
  return controller.signal
}

/** Usually the disk is full. */
function reportBrokenOutput({ code, message }: NodeJS.ErrnoException): void {
  try {
    writeSync(2, `error: the output cannot be written: ${code ?? message}\n`)
  } catch {
    // Only the exit code is left to say it.
  }
}

/** Quoted text may hold lines of its own, which a CI server would take for commands. */
function inOneLine(text: string): string {
  return printable(text.replaceAll(/\s*[\r\n]\s*/g, ' '))
}

/** Reports an error on stderr, and under --json on stdout too; returns the exit code. */
function reportFailure(error: unknown, out: Output, run: FailedRun): ExitCode {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok
  const { code, message, lines = [message], exitCode, page } = failureOf(error, run)
  out.record({ type: 'error', code, message, ...(page && { page }) })
  out.say(`${out.tint('red', 'error:')} ${lines.map(inOneLine).join('\n')}`)
  if (page) out.say(page)
  return exitCode
}
