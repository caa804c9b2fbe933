// Answers errors, for servers that do not handle the errors of a handler. Not an import path.
import { errorPage, type Reply, toReply } from '../src/index.ts'

/** Sends the reply; an error is answered with 500 and a process warning. Returns what was sent. */
export async function answer(
  handled: Promise<Reply>,
  send: (reply: Reply) => void,
): Promise<Reply> {
  try {
    const reply = await handled
    send(reply)
    return reply
  } catch (error) {
    warnOf(error)
    const reply = toReply({ kind: 'failed', code: 'HANDLER_FAILED', error })
    send(reply)
    return reply
  }
}

/** Names only the class of the error: its text may hold data. */
function warnOf(error: unknown): void {
  const thrown = error instanceof Error ? error.name : typeof error
  const code = 'HANDLER_FAILED'
  const message = `webhook ${code}: a request could not be answered: ${thrown}`
  process.emitWarning(message, { code: `IDV_${code}`, detail: errorPage(code) })
}
