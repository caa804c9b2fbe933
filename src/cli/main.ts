// One run from arguments to exit code: signals, settings, the command, and what became of it.
import { writeSync } from 'node:fs'
import { CommanderError } from 'commander'
import { commands } from './commands.ts'
import { loadConfig } from './config.ts'
import { CliError, type ExitCode, exitCodes, toFailure } from './exit-code.ts'
import { createOutput, type Output, printable } from './output.ts'
import { createProgram, mapOf } from './program.ts'
import { refuseSecretArguments } from './secrets.ts'
import type { Ending, Session } from './session.ts'

/** What must be known before the arguments are parsed. */
interface Early {
  readonly json: boolean
  readonly color: boolean
  readonly config: string | undefined
  readonly operands: readonly string[]
  /** Nothing is done but to print what the program knows of itself. */
  readonly helpOnly: boolean
}

/** Runs the command line; sets the exit code and never calls exit while output is on its way. */
export async function main(): Promise<void> {
  const args = process.argv.slice(2)
  const early = readEarly(args)
  const { stdout, stderr } = process
  const out = createOutput({ stdout, stderr, json: early.json, color: early.color })
  const ending: Ending = { exitCode: exitCodes.ok }
  const signal = interruption(ending)
  try {
    refuseSecretArguments(args)
    const session = await createSession(early, { out, signal, ending })
    await run(session, args, early)
    process.exitCode = signal.aborted ? exitCodes.interrupted : ending.exitCode
  } catch (error) {
    process.exitCode = report(error, out, signal)
  }
}

type Given = Pick<Session, 'out' | 'signal' | 'ending'>

async function createSession(early: Early, given: Given): Promise<Session> {
  const { env, stdin } = process
  const cwd = process.cwd()
  // Help must come even where the config file is broken.
  const config = early.helpOnly
    ? { values: {} }
    : await loadConfig(cwd, early.config ?? env.IDV_CONFIG)
  // The one place of the command line that reads the time.
  return { ...given, env, stdin, cwd, config, now: () => new Date() }
}

async function run(session: Session, args: readonly string[], early: Early): Promise<void> {
  const [first, second] = early.operands
  const named = first === 'help' ? second : first
  const known = commands.some(({ name }) => name === named)
  const whole = named === 'completion' || named === 'config' || args.includes('--map')
  const program = await createProgram(session, whole ? undefined : known ? [named ?? ''] : [])
  if (args.includes('--map')) {
    process.stdout.write(`${JSON.stringify(mapOf(program), null, 2)}\n`)
    return
  }
  if (args.length === 0) {
    throw new CliError('USAGE', program.helpInformation().trimEnd())
  }
  await program.parseAsync([...args], { from: 'user' })
}

/** Reads the few options that count before parsing; commander reads them again later. */
function readEarly(args: readonly string[]): Early {
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

/** Ctrl-C and the like end a run in order, a second one at once; so does a reader that left. */
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
  // A terminal that is closed hangs up.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, stop)
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(process.exitCode ?? exitCodes.failed)
      // Nothing can be said on a stream that is broken; the other one may be whole.
      if (stream === process.stdout) tellBroken(error)
      process.exit(exitCodes.failed)
    })
  }
  return controller.signal
}

/** A full disk, most often. */
function tellBroken({ code, message }: NodeJS.ErrnoException): void {
  try {
    writeSync(2, `error: the output cannot be written: ${code ?? message}\n`)
  } catch {
    // Then the exit code alone tells it.
  }
}

/** Tells what went wrong, on stderr and under --json on stdout too; gives the exit code. */
function report(error: unknown, out: Output, signal: AbortSignal): ExitCode {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return exitCodes.ok
    const message = error.message.replace(/^error: /, '')
    return report(new CliError('USAGE', usage(message)), out, signal)
  }
  const { code, message, exitCode } = toFailure(error, signal)
  out.record({ type: 'error', code, message })
  out.say(code === 'USAGE' ? message : `${out.tint('red', 'error:')} ${lines(message)}`)
  return exitCode
}

function usage(message: string): string {
  if (message === '(outputHelp)') return 'say which command: see idv-webhooks --help'
  return `error: ${lines(message)}\nsee idv-webhooks --help, or --help after a command`
}

function lines(message: string): string {
  return message.split('\n').map(printable).join('\n')
}
