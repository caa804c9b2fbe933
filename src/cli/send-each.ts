// Sends many deliveries, in order or several at a time, and tells what became of each: the inside
// of send and replay.
import { type Answer, deliver, outcomeOf, type Shipment } from './deliver.ts'
import { type ExitCode, exitCodes } from './exit-code.ts'
import { hintFor } from './hints.ts'
import { count, printable } from './output.ts'
import { mostSeconds, type Session } from './session.ts'

/** One delivery in a run, by the name that the caller knows it by. */
export interface Sending {
  readonly name: string
  /** Made when its turn comes, so that what it signs is fresh. */
  prepare(): Promise<Omit<Shipment, 'url'>>
}

/** How a run is sent. */
export interface SendPlan {
  readonly url: string
  readonly concurrency: number
  /** Deliveries a second at most. */
  readonly rate?: number | undefined
  /** Seconds to wait for each answer. */
  readonly timeout: number
  /** What counts as success: being taken, or being refused with a 4xx. */
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

/** What is sent: as many as there are, each made when its turn comes. */
export interface Sendings {
  readonly length: number
  at(index: number): Sending | undefined
}

/** Sends all and tells each; the exit code says whether all ended as expected. */
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
    // Where nothing could even be made, the mistake alone is worth telling.
    if (tally.sent > 0 || session.signal.aborted) summarise(session, tally, sendings.length)
  }
  const good = plan.expect === 'taken' ? tally.taken : tally.refused
  return good === sendings.length ? exitCodes.ok : exitCodes.failed
}

/** Waits so that no more than `rate` a second begin. */
function pacer({ signal, now }: Session, rate: number | undefined) {
  const begun = now().getTime()
  return async (index: number): Promise<void> => {
    if (rate === undefined) return
    const due = () => begun + (index * 1000) / rate - now().getTime()
    // A timer waits no longer than so many seconds.
    while (due() > 0) {
      const wait = Math.min(due(), mostSeconds * 1000)
      await new Promise<void>((resolve) => {
        const end = () => [clearTimeout(timer), signal.removeEventListener('abort', end), resolve()]
        const timer = setTimeout(end, wait)
        signal.addEventListener('abort', end)
      })
      signal.throwIfAborted()
    }
  }
}

interface Noted {
  readonly index: number
  readonly sending: Sending
  readonly shipment: Omit<Shipment, 'url'>
  readonly answer: Answer
  readonly tally: Tally
}

function note({ out }: Session, plan: SendPlan, noted: Noted): void {
  const { index, sending, shipment, answer, tally } = noted
  const { status, milliseconds, error } = answer
  const told = outcomeOf(answer)
  const kind = kindOf(status)
  tally.sent += 1
  tally[kind] += 1
  const body = plan.showPayload ? new TextDecoder().decode(shipment.body) : undefined
  out.record({
    type: 'sent',
    index,
    name: sending.name,
    status,
    ...told,
    ...(error !== undefined && { error }),
    milliseconds: Math.round(milliseconds * 10) / 10,
    ...(body !== undefined && { body }),
  })
  const word = told.code ?? told.outcome ?? error ?? ''
  const color = kind === plan.expect ? 'green' : 'red'
  const columns = [
    out.paint(color, status === 0 ? '---' : String(status)),
    `${milliseconds.toFixed(0)} ms`.padStart(8),
    printable(sending.name),
    printable(word),
  ]
  out.data(columns.join('  ').trimEnd())
  if (body !== undefined) out.data(printable(body))
  const hint = kind === plan.expect ? undefined : hintOf(plan, { ...answer, ...told })
  if (hint === undefined || tally.hints.has(hint)) return
  tally.hints.add(hint)
  out.say(out.tint('yellow', `  ${hint}`))
}

function hintOf({ expect }: SendPlan, answer: Parameters<typeof hintFor>[0]): string | undefined {
  if (expect === 'taken' || kindOf(answer.status) !== 'taken') return hintFor(answer)
  return 'taken, though it should have been refused: what answers there does not verify'
}

function kindOf(status: number): 'taken' | 'refused' | 'failed' {
  if (status >= 200 && status < 300) return 'taken'
  return status >= 400 && status < 500 ? 'refused' : 'failed'
}

function summarise({ out }: Session, tally: Tally, wanted: number): void {
  const { sent, taken, refused, failed } = tally
  out.record({ type: 'summary', wanted, sent, taken, refused, failed })
  const missing = wanted > sent ? `, ${wanted - sent} not sent` : ''
  out.say(
    `${count(sent, 'delivery', 'deliveries')}: ${taken} taken, ${refused} refused, ${failed} failed${missing}`,
  )
}
