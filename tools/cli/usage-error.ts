// Errors of a run, as printed; they never repeat a value that may be a secret in the wrong place.
import { CommanderError } from 'commander'
import { CliError, type Failure, toFailure } from './exit-code.ts'

/** A failed run: its error, and its arguments. */
export interface FailedRun {
  readonly signal: AbortSignal
  readonly args: readonly string[]
}

/** The failure behind an error. */
export function failureOf(error: unknown, { signal, args }: FailedRun): Failure {
  const known = error instanceof CommanderError ? usageError(error, args) : error
  const { code, message, lines = [message], exitCode, page } = toFailure(known, signal)
  const shown = lines.map((line) => withoutSecrets(line, args))
  return { code, exitCode, page, message: shown.join('\n'), lines: shown }
}

function usageError({ code, message }: CommanderError, args: readonly string[]): CliError {
  if (message === '(outputHelp)') {
    const asked = args[args.indexOf('help') + 1]
    const what =
      args.includes('help') && asked !== undefined
        ? `unknown command '${asked}'`
        : 'no command given'
    return new CliError('USAGE', `${what}: see idv-webhooks --help`)
  }
  // The value after an unknown option may be a secret.
  const what = message.replace(/^error: /, '').replace(/(unknown option '[^'=]*)=.*?'/s, "$1'")
  const hint = code === 'commander.excessArguments' ? hintFor(args) : renamed(what)
  const help = 'see idv-webhooks --help, or --help after a command'
  return new CliError('USAGE', [`${what}${hint}`, help])
}

function hintFor(args: readonly string[]): string {
  if (args.some((arg) => /^https?:/.test(arg))) return ' Pass an address with --to.'
  return args[0] === 'inbox' ? ' Pass the file of the inbox with --inbox.' : ''
}

/** Options by the names that they had in 0.1. */
const formerNames: readonly (readonly [option: RegExp, now: string])[] = [
  [/'--(url|forward|subscribe)'/, '--to'],
  [/'--file'/, '--inbox'],
]

function renamed(what: string): string {
  const [, now] = formerNames.find(([option]) => option.test(what)) ?? []
  const asked = what.startsWith('unknown option') && !what.includes('Did you mean')
  return asked && now !== undefined ? `. It is called ${now} now.` : ''
}

/** As senders write secrets. */
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
