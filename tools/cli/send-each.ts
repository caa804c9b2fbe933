// Sends many deliveries, in order or concurrently, and reports each response: what send and replay
// share.
import { sleep } from '../../src/foundation/abortable.ts'
import { type DeliveryAnswer, deliver, outcomeOf, type Shipment } from './deliver.ts'
import { type ExitCode, exitCodes } from './exit-code.ts'
import { hintFor } from './hints.ts'
import { count, printable } from './output.ts'
import type { Session } from './session.ts'

/** One delivery of a run, under the name that the caller knows. */
export interface Sending {
  readonly name: string
  /** Called when its turn comes, so that its signature is fresh. */
  prepare(): Promise<Omit<Shipment, 'url'>>
}

/** How the deliveries are sent. */
export interface SendPlan {
  readonly url: string
  readonly concurrency: number
  /** Maximum deliveries per second. */
  readonly rate?: number | undefined
  /** Seconds to wait for each response. */
  readonly timeout: number
  /** Which response is a success: 2xx, or 4xx. */
  readonly expect: 'taken' | 'refused'
  readonly showPayload?: boolean | undefined
}

interface Tally {
  sent: number
  taken: number
  refused: number
  failed: number
  readonly hints: Set<string>
}

/** A list of deliveries, each created when its turn comes. */
export interface Sendings {
  readonly length: number
  at(index: number): Sending | undefined
}

/** Sends all and reports each; exits 0 if all responses are as expected. */
export async function sendEach(
  session: Session,
  plan: SendPlan,
  sendings: Sendings,
): Promise<ExitCode> {
  const tally: Tally = { sent: 0, taken: 0, refused: 0, failed: 0, hints: new Set() }
  let next = 0
  const pace = pacer(session, plan.rate)
  const work = async () => {
    for (let index = next++; index < sendings.length; index = next++) {
      const sending = sendings.at(index)
      if (!sending) return
      session.signal.throwIfAborted()
      await pace(index)
      const shipment = await sending.prepare()
      const answer = await deliver({ ...shipment, url: plan.url }, { ...plan, ...session })
      note(session, plan, { index, sending, shipment, answer, tally })
      session.out.progress(`${tally.sent}/${sendings.length} sent`)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(plan.concurrency, sendings.length) }, work))
  } finally {
    // If nothing could be created, the error says it all.
    if (tally.sent > 0 || session.signal.aborted) summarise(session, tally, sendings.length)
  }
  const good = plan.expect === 'taken' ? tally.taken : tally.refused
  return good === sendings.length ? exitCodes.ok : exitCodes.failed
}

/** Waits so that at most `rate` deliveries start per second. */
function pacer({ signal, now }: Session, rate: number | undefined) {
  const begun = now().getTime()
  return async (index: number): Promise<void> => {
    if (rate === undefined) return
    const due = () => begun + (index * 1000) / rate - now().getTime()
    // A single timer may be too short for a very low rate.
    while (due() > 0) await sleep(due(), signal)
  }
}

interface Noted {
  readonly index: number
  readonly sending: Sending
  readonly shipment: Omit<Shipment, 'url'>
  readonly answer: DeliveryAnswer
  readonly tally: Tally
}

function note({ out }: Session, plan: SendPlan, noted: Noted): void {
  const { index, sending, shipment, answer, tally } = noted
  const { status, milliseconds, error } = answer
  const outcome = outcomeOf(answer)
  const kind = kindOf(status)
  tally.sent += 1
  tally[kind] += 1
  const body = plan.showPayload ? new TextDecoder().decode(shipment.body) : undefined
  out.record({
    type: 'sent',
    index,
    name: sending.name,
    status,
    ...outcome,
    ...(error !== undefined && { error }),
    milliseconds: Math.round(milliseconds * 10) / 10,
    ...(body !== undefined && { body }),
  })
  const word = outcome.code ?? outcome.outcome ?? error ?? ''
  const color = kind === plan.expect ? 'green' : 'red'
  const columns = [
    out.paint(color, status === 0 ? '---' : String(status)),
    `${milliseconds.toFixed(0)} ms`.padStart(8),
    printable(sending.name),
    printable(word),
  ]
  out.data(columns.join('  ').trimEnd())
  if (body !== undefined) out.data(printable(body))
  const hint = kind === plan.expect ? undefined : hintOf(plan, { ...answer, ...outcome })
  if (hint === undefined || tally.hints.has(hint)) return
  tally.hints.add(hint)
  out.say(out.tint('yellow', `  ${hint}`))
}

function hintOf({ expect }: SendPlan, answer: Parameters<typeof hintFor>[0]): string | undefined {
  if (expect === 'taken' || kindOf(answer.status) !== 'taken') return hintFor(answer)
  return 'accepted, but it must be refused: the app does not verify signatures'
}

/** Statuses of a refused delivery; by others of 4xx a wrong address or a limiter answers. */
const refusals: readonly number[] = [400, 401, 403, 413, 415, 422]

function kindOf(status: number): 'taken' | 'refused' | 'failed' {
  if (status >= 200 && status < 300) return 'taken'
  return refusals.includes(status) ? 'refused' : 'failed'
}

function summarise({ out }: Session, tally: Tally, wanted: number): void {
  const { sent, taken, refused, failed } = tally
  out.record({ type: 'summary', wanted, sent, taken, refused, failed })
  const missing = wanted > sent ? `, ${wanted - sent} not sent` : ''
  out.say(
    `${count(sent, 'delivery', 'deliveries')}: ${taken} accepted, ${refused} refused, ${failed} failed${missing}`,
  )
}
