// The exit codes of the command line, and the errors that select one.
import { errorPage, isWebhookError, type WebhookError } from '../../src/index.ts'

/** All exit codes; the help documents them. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Stops a command with a message for people; the message holds no secret and no payload. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exitCode: ExitCode
  /** The message as it is printed: text that it quotes adds no lines. */
  readonly lines: readonly string[]
  /** The address of the page about the code, if there is one. */
  readonly page?: string

  /** An error of the package, as one of the command line. */
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

/** An error with its code, message and exit code. */
export interface Failure {
  readonly code: string
  readonly message: string
  /** The lines of the message, if it has several. */
  readonly lines?: readonly string[]
  readonly exitCode: ExitCode
  readonly page?: string
}

/** Distinguishes interruptions, mistakes of the caller and failures. */
export function toFailure(error: unknown, signal: AbortSignal): Failure {
  if (signal.aborted) {
    return { code: 'INTERRUPTED', message: 'interrupted', exitCode: exitCodes.interrupted }
  }
  if (error instanceof CliError) return error
  // The package throws these for wrong arguments.
  if (isWebhookError(error)) return CliError.from(error, { exitCode: exitCodes.usage })
  const message = error instanceof Error ? error.message : String(error)
  const system = error instanceof Error && 'code' in error ? String(error.code) : 'FAILED'
  return { code: system, message, exitCode: exitCodes.failed }
}
