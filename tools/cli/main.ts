// One run from arguments to exit code: signals, settings, the command, and its outcome.
import { CommanderError } from 'commander'
import { type ExitCode, exitCodes, type FailedRun, failureOf } from './exit-code.ts'
import { createOutput, type Output, printable } from './output.ts'
import { createProgram, mapOf } from './program.ts'
import { refuseSecretArguments } from './secrets.ts'
import type { RunEnding, Session } from './session.ts'
import { loadConfig } from './settings.ts'

/** Runs the command line of this process; sets the exit code and never exits while output is pending. */
export async function main(): Promise<void> {
  // A run that waits for what cannot come, such as a promise of the config file, has not succeeded.
  process.exitCode = exitCodes.failed
  const { env, stdin, stdout, stderr } = process
  const ending: RunEnding = { exitCode: exitCodes.ok }
  const signal = interruption(ending)
  const [, , ...args] = process.argv
  const cwd = process.cwd()
  process.exitCode = await runIn({ args, env, cwd, stdin, stdout, stderr, signal, ending })
}

export type RunInput = Pick<
  Session,
  'env' | 'cwd' | 'stdin' | 'stdout' | 'stderr' | 'signal' | 'ending'
> & { readonly args: readonly string[] }

/** Runs a command line to its exit code; touches nothing of the process. @public */
export async function runIn({ args, ...around }: RunInput): Promise<ExitCode> {
  const { cwd, env, signal, ending } = around
  const early = readEarly(args)
  const out = createOutput({ ...around, json: early.json, color: early.color })
  try {
    refuseSecretArguments(args)
    // Help must work even when the config file is broken.
    const config = early.helpOnly
      ? { values: {} }
      : await loadConfig(cwd, early.config ?? (env.IDV_CONFIG || undefined))
    // The only place of the command line that reads the clock.
    await run({ ...around, out, config, now: () => new Date() }, args, early.operands)
    return signal.aborted ? exitCodes.interrupted : ending.exitCode
  } catch (error) {
    return reportFailure(error, out, { signal, args })
  }
}

async function run(session: Session, args: readonly string[], [first, second]: readonly string[]) {
  const isMap = args.includes('--map')
  const name = first === 'help' ? second : first
  const program = await createProgram(session, isMap ? undefined : (name ?? ''))
  if (isMap) {
    session.stdout.write(`${JSON.stringify(mapOf(program), null, 2)}\n`)
  } else if (args.length === 0) {
    session.out.say(program.helpInformation().trimEnd())
    session.ending.exitCode = exitCodes.usage
  } else {
    await program.parseAsync(helpLast(args), { from: 'user' })
  }
}

/** commander reads one name after `help`: `help inbox redrive` is `inbox redrive --help`. */
function helpLast(args: readonly string[]): string[] {
  return args[0] === 'help' && args.length > 2 ? [...args.slice(1), '--help'] : [...args]
}

/** Reads the few options that count before parsing; commander reads them again later. */
function readEarly(args: readonly string[]) {
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  const spaced = own.indexOf('--config')
  const joined = own.find((arg) => arg.startsWith('--config='))?.slice('--config='.length)
  return {
    json: own.includes('--json'),
    color: !own.includes('--no-color'),
    config: spaced === -1 ? joined : own[spaced + 1],
    /** True if the run only prints the program's help or version. */
    helpOnly: own.some((arg) => /^(-h|--help|-V|--version|--map|help)$/.test(arg)),
    operands: own.filter(
      (arg, at) => !arg.startsWith('-') && !(spaced !== -1 && at === spaced + 1),
    ),
  }
}

/** Ends a run in order at a signal or when output breaks; a second signal ends it at once. */
function interruption(ending: RunEnding): AbortSignal {
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
    stream.on('error', () => process.exit(exitCodes.failed))
  }
  return controller.signal
}

function reportFailure(error: unknown, out: Output, run: FailedRun): ExitCode {
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok
  const { code, message, exitCode, page } = failureOf(error, run)
  out.record({ type: 'error', code, message, ...(page && { page }) })
  // Quoted text may have line breaks, and a CI server would read such a line as its own command.
  out.say(`${out.tint('red', 'error:')} ${printable(message.replaceAll(/\s*[\r\n]\s*/g, ' '))}`)
  if (page) out.say(page)
  return exitCode
}
