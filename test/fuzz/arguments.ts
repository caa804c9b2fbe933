// The arguments of the command line: parsed as they are given, without running a command.
import { Readable } from 'node:stream'
import { type Command, CommanderError } from 'commander'
import { WebhookError } from '../../src/index.ts'
import { CliError, failureOf } from '../../tools/cli/exit-code.ts'
import { createOutput } from '../../tools/cli/output.ts'
import { createProgram, summaries } from '../../tools/cli/program.ts'
import { refuseSecretArguments } from '../../tools/cli/secrets.ts'
import type { Session } from '../../tools/cli/session.ts'

/** Values that a user may paste in the wrong place. */
export const pasted = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

const nowhere = { write: () => true, isTTY: false, on: () => nowhere } as never
const signal = new AbortController().signal

const session: Session = {
  out: createOutput({ stdout: nowhere, stderr: nowhere, json: false, color: false }),
  env: {},
  cwd: '/',
  stdin: Readable.from([]) as never,
  stdout: nowhere,
  stderr: nowhere,
  signal,
  now: () => new Date(0),
  config: { values: {} },
  ending: { exitCode: 0 },
}

/** Arguments are parsed or refused as usage, and no message repeats a secret. */
export async function parsesArguments(args: readonly string[]): Promise<void> {
  try {
    refuseSecretArguments(args)
    const name = Object.keys(summaries).find((one) => args.includes(one))
    const program = await createProgram(session, name ?? '')
    idle(program)
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return
    const isKnown = [CommanderError, CliError, WebhookError].some((one) => error instanceof one)
    if (!isKnown) throw error
    const { message } = failureOf(error, { signal, args })
    if (message.includes(pasted)) throw new Error(`a pasted secret is repeated: ${message}`)
  }
}

/** Takes away what commands do and print. */
function idle(command: Command): void {
  command.action(() => {})
  command.configureOutput({ writeOut: () => {}, writeErr: () => {}, outputError: () => {} })
  for (const one of command.commands) idle(one)
}
