// A word of consent before what cannot be undone: --yes, or a typed yes at a terminal.
import { createInterface } from 'node:readline/promises'
import { CliError, exitCodes } from './exit-code.ts'
import type { Session } from './session.ts'

/** Goes on only with consent; `warning` says what it is for. */
export async function needConsent(
  session: Session,
  { yes }: { readonly yes?: boolean },
  warning: string,
): Promise<void> {
  const { stdin, out } = session
  if (yes) return
  if (!stdin.isTTY || !process.stderr.isTTY || out.json) {
    throw new CliError('CONSENT_MISSING', `${warning}: give --yes if that is what you want`)
  }
  const said = await ask(session, `${warning}. Type yes to go on: `)
  if (said.trim().toLowerCase() !== 'yes') {
    throw new CliError('CONSENT_MISSING', 'not without a yes')
  }
}

/** Ctrl-C ends the run as elsewhere; the end of the input is no yes. */
async function ask({ stdin, signal }: Session, question: string): Promise<string> {
  const line = createInterface({ input: stdin, output: process.stderr })
  const ended = new Promise<string>((resolve, reject) => {
    // Told here and not by the signal alone: a second Ctrl-C would close the line, and that is a no.
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
