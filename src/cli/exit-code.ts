// How the command line ends: its exit codes, and the errors that choose one.
import { isWebhookError } from '../index.ts'

/** Every way to end; documented in the help. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, interrupted: 130 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** Stops a command with a message for people; the message holds no secret and no payload. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: string
  readonly exitCode: ExitCode

  constructor(code: string, message: string, exitCode: ExitCode = exitCodes.usage) {
    super(message)
    this.code = code
    this.exitCode = exitCode
  }
}

/** What went wrong, as a code, a message and the exit code that tells it. */
export interface Failure {
  readonly code: string
  readonly message: string
  readonly exitCode: ExitCode
}

/** Tells an interruption, a mistake of the caller and a failure apart. */
export function toFailure(error: unknown, signal: AbortSignal): Failure {
  if (signal.aborted) {
    return { code: 'INTERRUPTED', message: 'interrupted', exitCode: exitCodes.interrupted }
  }
  if (error instanceof CliError) return error
  const message = error instanceof Error ? error.message : String(error)
  // What the package refuses at its doors is a mistake in what it was given.
  if (isWebhookError(error)) return { code: error.code, message, exitCode: exitCodes.usage }
  const system = error instanceof Error && 'code' in error ? String(error.code) : 'FAILED'
  return { code: system, message, exitCode: exitCodes.failed }
}
