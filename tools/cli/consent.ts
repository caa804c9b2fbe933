// Confirmation of what cannot be undone: --yes, or a typed yes at a terminal.
import { createInterface } from 'node:readline/promises'
import { CliError, exitCodes } from './exit-code.ts'
import type { Session } from './session.ts'

/**
 * Continues only when confirmed; `warning` says what happens.
 *
 * @throws CliError `CONSENT_MISSING`
 */
export async function needConsent(
  session: Session,
  { yes }: { readonly yes?: boolean },
  warning: string,
): Promise<void> {
  const { stdin, stderr, out } = session
  if (yes) return
  if (!stdin.isTTY || !stderr.isTTY || out.json) {
    throw new CliError('CONSENT_MISSING', `${warning}: pass --yes to confirm`)
  }
  const reply = await ask(session, `${warning}. Type yes to continue: `)
  if (reply.trim().toLowerCase() !== 'yes') {
    throw new CliError('CONSENT_MISSING', 'aborted: not confirmed')
  }
}

/** Ctrl-C ends the run as everywhere; the end of the input counts as a refusal. */
async function ask({ stdin, stderr, signal }: Session, question: string): Promise<string> {
  const line = createInterface({ input: stdin, output: stderr })
  const ended = new Promise<string>((resolve, reject) => {
    // Not by the signal alone: a second Ctrl-C would close the line, which counts as a refusal.
    line.on('SIGINT', () => {
      reject(new CliError('INTERRUPTED', 'interrupted', exitCodes.interrupted))
    })
    line.once('close', () => resolve(''))
  })
  try {
    return await Promise.race([line.question(question, { signal }), ended])
  } finally {
    line.close()
  }
}
