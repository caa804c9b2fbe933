// The behaviour of a receiver on every runtime, over HTTP: the rows of the matrix.
import { setTimeout as sleep } from 'node:timers/promises'
import { deliver, deliverAndLeave } from './program.ts'

/** Runtimes of the matrix as the documents name them; Next's edge runtime is in next.test.ts. */
export const edge = 'Next.js edge runtime'

export const expected = {
  handled: '200 handled',
  refused: '401 SIGNATURE_MISMATCH',
  unknown: '200 ignored',
  throws: '500 HANDLER_FAILED',
  'three in a row': ['200 handled', '200 handled', '200 handled'],
  'three at once': ['200 handled', '200 handled', '200 handled'],
  'at work when the drain began': '200 handled',
  'after the drain': '503 DRAINING',
}

/**
 * Exercises a receiver that handles `verification.approved`, throws at `verification.rejected`,
 * takes a while for `verification.submitted`, also for a sender who leaves meanwhile, drains at
 * DELETE, and tells at GET what has begun or ended.
 */
export async function exercise(url: string): Promise<typeof expected> {
  const send = (event: string, options?: { forged: boolean }) =>
    deliver(url, { event, data: { id: 'ver_1' } }, options)
  const approved = () => send('verification.approved')
  const handled = await approved()
  const refused = await send('verification.approved', { forged: true })
  const unknown = await send('verification.teleported')
  const throws = await send('verification.rejected')
  const row = [await approved(), await approved(), await approved()]
  const once = await Promise.all([approved(), approved(), approved()])
  const until = async (state: string) => {
    while ((await (await fetch(url)).text()) !== state) await sleep(10)
  }
  const slowly = { event: 'verification.submitted', data: { id: 'ver_1' } }
  await deliverAndLeave(url, slowly, () => until('begun'))
  await until('ended')
  const slow = send('verification.submitted')
  await until('begun')
  await fetch(url, { method: 'DELETE' })
  return {
    handled,
    refused,
    unknown,
    throws,
    'three in a row': row,
    'three at once': once,
    'at work when the drain began': await slow,
    'after the drain': await approved(),
  }
}
