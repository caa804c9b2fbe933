// One run from arguments to exit code: signals, settings, the command, and its outcome.
import { writeSync } from 'node:fs'
import { CommanderError } from 'commander'
import { commands } from './commands.ts'
import { loadConfig } from './config.ts'
import { type ExitCode, exitCodes } from './exit-code.ts'
import { createOutput, type Output, printable } from './output.ts'
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

/** Runs the command line; sets the exit code and never exits while output is pending. */
export async function main(): Promise<void> {
  const args = process.argv.slice(2)
  const early = readEarly(args)
  const { stdout, stderr } = process
  const out = createOutput({ stdout, stderr, json: early.json, color: early.color })
  const ending: Ending = { exitCode: exitCodes.ok }
  const signal = interruption(ending)
  const ended = expectEnd(out)
  try {
    refuseSecretArguments(args)
    const session = await createSession(early, { out, signal, ending })
    await run(session, args, early)
    process.exitCode = signal.aborted ? exitCodes.interrupted : ending.exitCode
  } catch (error) {
    process.exitCode = reportFailure(error, out, { signal, args })
  } finally {
    ended()
  }
}

/** A run that waits for what cannot come, such as a promise of the config file, has not succeeded. */
function expectEnd(out: Output): () => void {
  const stuck = () => {
    process.exitCode = exitCodes.failed
    out.say('error: the run ended without a result: check `await` in the config file')
  }
  process.once('beforeExit', stuck)
  return () => void process.off('beforeExit', stuck)
}

type Base = Pick<Session, 'out' | 'signal' | 'ending'>

async function createSession(early: EarlyOptions, base: Base): Promise<Session> {
  const { env, stdin } = process
  const cwd = process.cwd()
  // Help must work even when the config file is broken.
  const config = early.helpOnly
    ? { values: {} }
    : await loadConfig(cwd, early.config ?? (env.IDV_CONFIG || undefined))
  // The only place of the command line that reads the clock.
  return { ...base, env, stdin, cwd, config, now: () => new Date() }
}

async function run(session: Session, args: readonly string[], early: EarlyOptions): Promise<void> {
  const [first, second] = early.operands
  const name = first === 'help' ? second : first
  const isKnown = commands.some((command) => command.name === name)
  const needsAll = name === 'completion' || name === 'config' || args.includes('--map')
  const program = await createProgram(session, needsAll ? undefined : isKnown ? [name ?? ''] : [])
  if (args.includes('--map')) {
    process.stdout.write(`${JSON.stringify(mapOf(program), null, 2)}\n`)
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
