// The exit codes, and the errors that select one. A message never repeats a value that may be a
// secret in the wrong place.
import { CommanderError } from 'commander'
import { errorPage, isWebhookError, type WebhookError } from '../../src/index.ts'
import { type ExitCode, exitCodes } from './records.ts'

export { type ExitCode, exitCodes } from './records.ts'

export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exitCode: ExitCode
  readonly page?: string

  static from(error: WebhookError, options: { message?: string; exitCode?: ExitCode }): CliError {
    const { message = error.reason, exitCode } = options
    return Object.assign(new CliError(error.code, message, exitCode), {
      page: errorPage(error.code),
    })
  }

  constructor(code: string, message: string, exitCode: ExitCode = exitCodes.usage) {
    super(message)
    this.code = code
    this.exitCode = exitCode
  }
}

/** A mistake of the caller. */
export const usageError = (message: string) => new CliError('USAGE', message)

export interface FailedRun {
  readonly signal: AbortSignal
  readonly args: readonly string[]
}

export function failureOf(error: unknown, { signal, args }: FailedRun): CliError {
  const { code, message, exitCode, page } = signal.aborted
    ? new CliError('INTERRUPTED', 'interrupted', exitCodes.interrupted)
    : toCliError(error, args)
  return Object.assign(new CliError(code, withoutSecrets(message, args), exitCode), { page })
}

function toCliError(error: unknown, args: readonly string[]): CliError {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) return parserError(error, args)
  // The package throws these for wrong arguments.
  if (isWebhookError(error)) return CliError.from(error, { exitCode: exitCodes.usage })
  const message = error instanceof Error ? error.message : String(error)
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'FAILED'
  return new CliError(code, message, exitCodes.failed)
}

function parserError({ message }: CommanderError, args: readonly string[]): CliError {
  if (message === '(outputHelp)') {
    const asked = args[args.indexOf('help') + 1]
    const isUnknown = args.includes('help') && asked !== undefined
    const what = isUnknown ? `unknown command '${asked}'` : 'no command given'
    return usageError(`${what}: see idv-webhooks --help`)
  }
  const [what = '', similar] = message
    .replace(/^error: /, '')
    // The value after an unknown option may be a secret.
    .replace(/(unknown option '[^'=]*)=.*?'/s, "$1'")
    .split(/\n\(|\)$/)
  const sentence = what.replace(/[^.]$/, '$&.')
  const hint = familiarHint(what, args) ?? similar ?? ''
  return usageError([sentence, hint, 'See --help.'].filter(Boolean).join(' '))
}

/** Spellings and places of values that newcomers bring from other tools. */
const familiar: readonly (readonly [command: RegExp, fault: RegExp, hint: string])[] = [
  [
    /^(send|capture|replay|doctor|sandbox|mcp)$/,
    /option '--(url|forward-to|target|endpoint)'/,
    'Did you mean --to?',
  ],
  [/^send$/, /option '--(count|repeat|number)'/, 'Did you mean --times?'],
  [/^send$/, /^too many arguments/, 'Send one event at a time; --times repeats it.'],
  [/./, /^too many arguments.* https?:/, 'Pass an address with --to.'],
  [/^inbox$/, /^too many arguments/, 'Pass the file of the inbox with --inbox.'],
]

function familiarHint(what: string, [command = '']: readonly string[]): string | undefined {
  return familiar.find(([name, fault]) => name.test(command) && fault.test(what))?.[2]
}

/** The form in which senders write secrets. */
const secretForm = /whsec_[\w+/=-]*/g

/** Long and of letters and digits in turns, as keys are; paths have a dot. */
const secretLike = [/^[0-9a-fA-F]{32,}$/, /^(?!\/)(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+/=-]{20,}$/]

/** Hides arguments that look like a secret from a message that quotes them. */
function withoutSecrets(message: string, args: readonly string[]): string {
  const values = args.flatMap((arg) => [arg, arg.slice(arg.indexOf('=') + 1)])
  const secrets = values.filter(looksSecret)
  // The longer word first: one may be part of another.
  secrets.sort((one, other) => other.length - one.length)
  const start = message.replace(secretForm, '…')
  return secrets.reduce((text, secret) => text.replaceAll(secret, '…'), start)
}

export function looksSecret(text: string): boolean {
  return text.startsWith('whsec_') || secretLike.some((pattern) => pattern.test(text))
}
