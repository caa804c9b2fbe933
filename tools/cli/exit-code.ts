// The exit codes, and the errors that select one. A message never repeats a value that may be a
// secret in the wrong place.
import { CommanderError } from 'commander'
import { errorPage, isWebhookError, type WebhookError } from '../../src/index.ts'

/** All exit codes; the help documents them. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Stops a command with a message for people; the message holds no secret and no payload. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exitCode: ExitCode
  /** The message as it is printed: quoted text adds no lines. */
  readonly lines: readonly string[]
  /** The address of the page about the code, if there is one. */
  readonly page?: string

  /** Converts an error of the package. */
  static from(error: WebhookError, options: { message?: string; exitCode?: ExitCode }): CliError {
    const { message = error.reason, exitCode } = options
    return Object.assign(new CliError(error.code, message, exitCode), {
      page: errorPage(error.code),
    })
  }

  /** A list is a message of several lines. */
  constructor(
    code: string,
    message: string | readonly string[],
    exitCode: ExitCode = exitCodes.usage,
  ) {
    const lines = typeof message === 'string' ? [message] : message
    super(lines.join('\n'))
    this.lines = lines
    this.code = code
    this.exitCode = exitCode
  }
}

/** A failed run: its signal, and its arguments. */
export interface FailedRun {
  readonly signal: AbortSignal
  readonly args: readonly string[]
}

/** Distinguishes interruptions, mistakes of the caller and failures. */
export function failureOf(error: unknown, { signal, args }: FailedRun): CliError {
  const known = signal.aborted
    ? new CliError('INTERRUPTED', 'interrupted', exitCodes.interrupted)
    : toCliError(error, args)
  const lines = known.lines.map((line) => withoutSecrets(line, args))
  return Object.assign(new CliError(known.code, lines, known.exitCode), { page: known.page })
}

function toCliError(error: unknown, args: readonly string[]): CliError {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) return usageError(error, args)
  // The package throws these for wrong arguments.
  if (isWebhookError(error)) return CliError.from(error, { exitCode: exitCodes.usage })
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'FAILED'
  return new CliError(code, message, exitCodes.failed)
}

function usageError({ code, message }: CommanderError, args: readonly string[]): CliError {
  if (message === '(outputHelp)') {
    const asked = args[args.indexOf('help') + 1]
    const isUnknown = args.includes('help') && asked !== undefined
    const what = isUnknown ? `unknown command '${asked}'` : 'no command given'
    return new CliError('USAGE', `${what}: see idv-webhooks --help`)
  }
  // The value after an unknown option may be a secret.
  const what = message.replace(/^error: /, '').replace(/(unknown option '[^'=]*)=.*?'/s, "$1'")
  const hint = code === 'commander.excessArguments' ? placeOf(args) : ''
  const help = 'see idv-webhooks --help, or --help after a command'
  return new CliError('USAGE', [`${what}${hint}`, help])
}

/** The option that an excess argument probably belongs to. */
function placeOf(args: readonly string[]): string {
  if (args.some((arg) => /^https?:/.test(arg))) return ' Pass an address with --to.'
  return args[0] === 'inbox' ? ' Pass the file of the inbox with --inbox.' : ''
}

/** The form in which senders write secrets. */
const secretForm = /whsec_[\w+/=-]*/g

/** Long and of letters and digits in turns, as keys are; paths have a dot. */
const secretLike = [/^[0-9a-fA-F]{32,}$/, /^(?!\/)(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+/=-]{20,}$/]

/** Hides arguments that look like a secret from a message that quotes them. */
function withoutSecrets(message: string, args: readonly string[]): string {
  const values = args.flatMap((arg) => [arg, arg.slice(arg.indexOf('=') + 1)])
  const secrets = values.filter((value) => secretLike.some((pattern) => pattern.test(value)))
  // The longer first: one may be part of another.
  secrets.sort((one, other) => other.length - one.length)
  const start = message.replace(secretForm, '…')
  return secrets.reduce((text, secret) => text.replaceAll(secret, '…'), start)
}
