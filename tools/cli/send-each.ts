// Sends many deliveries, in order or concurrently, and reports each response: what send and replay
// share.
import type { Command } from 'commander'
import { sleep } from '../../src/foundation/abortable.ts'
import { defined } from '../../src/foundation/defined.ts'
import { type DeliveryAnswer, deliver, outcomeOf, type Shipment } from './deliver.ts'
import { exitCodes, usageError } from './exit-code.ts'
import { hintFor } from './hints.ts'
import { addressFrom, numberFrom, timeoutOption, wholeFrom } from './option-values.ts'
import { count, printable } from './output.ts'
import { type SchemeChoice, schemeOption } from './schemes.ts'
import { type SecretOptions, secretFileOption } from './secrets.ts'
import type { Session } from './session.ts'

export interface SendingOptions extends SecretOptions, SchemeChoice {
  readonly to?: string
  readonly concurrency: number
  readonly rate?: number
  /** Seconds to wait for each response. */
  readonly timeout: number
  readonly showPayload?: boolean
}

export function withSending(command: Command): Command {
  return command
    .option('--to <url>', 'address to send to', addressFrom)
    .option('--concurrency <n>', 'deliveries at a time; 1 keeps their order', wholeFrom(1, 1000), 1)
    .option('--rate <n>', 'maximum deliveries per second', numberFrom(0.01))
    .addOption(timeoutOption('how long to wait for a response', 30))
    .option('--show-payload', 'print what is sent')
    .addOption(secretFileOption())
    .addOption(schemeOption())
}

export function needAddress({ to }: Pick<SendingOptions, 'to'>): string {
  if (to === undefined) throw usageError('no address given: pass --to <url>')
  return to
}

/** One delivery of a run, under the name that the caller knows. */
export interface Sending {
  readonly name: string
  /** Called when its turn comes, so that its signature is fresh. */
  prepare(): Promise<Omit<Shipment, 'url'>>
  /** The hint for a 401, if it is known before. */
  readonly hint?: string | undefined
}

/** `expect` is the response that is a success: 2xx, or 4xx. */
export type SendPlan = SendingOptions & { readonly expect: 'taken' | 'refused' }

type SendTally = Record<'sent' | 'taken' | 'refused' | 'failed', number>

export type Sendings = Pick<readonly Sending[], 'length' | 'at'>

export async function sendEach(session: Session, plan: SendPlan, sendings: Sendings) {
  const tally: SendTally = { sent: 0, taken: 0, refused: 0, failed: 0 }
  const hints = new Set<string>()
  const url = needAddress(plan)
  let next = 0
  const pace = pacer(session, plan.rate)
  const work = async () => {
    for (let index = next++; index < sendings.length; index = next++) {
      const sending = sendings.at(index)
      if (!sending) return
      session.signal.throwIfAborted()
      await pace(index)
      const shipment = await sending.prepare()
      const answer = await deliver({ ...shipment, url }, { ...plan, ...session })
      reportSent(session, plan, { index, sending, body: shipment.body, answer, tally, hints })
      session.out.progress(`${tally.sent}/${sendings.length} sent`)
    }
  }
  try {
    await Promise.all(Array.from({ length: Math.min(plan.concurrency, sendings.length) }, work))
  } finally {
    // If no delivery could be created, the error is enough.
    if (tally.sent > 0 || session.signal.aborted) summarise(session, tally, sendings.length)
  }
  return tally[plan.expect] === sendings.length ? exitCodes.ok : exitCodes.failed
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

interface Sent {
  readonly index: number
  readonly sending: Sending
  readonly body: Uint8Array
  readonly answer: DeliveryAnswer
  readonly tally: SendTally
  readonly hints: Set<string>
}

function reportSent({ out }: Session, { expect, showPayload }: SendPlan, sent: Sent): void {
  const { index, sending, answer, tally, hints } = sent
  const { name } = sending
  const { status, milliseconds, error } = answer
  const outcome = outcomeOf(answer)
  const kind = kindOf(status)
  tally.sent += 1
  tally[kind] += 1
  const body = showPayload ? new TextDecoder().decode(sent.body) : undefined
  const rounded = Math.round(milliseconds * 10) / 10
  const rest = defined({ error, milliseconds: rounded, body })
  out.record({ type: 'sent', index, name, status, ...outcome, ...rest })
  const columns = [
    out.paint(kind === expect ? 'green' : 'red', status === 0 ? '---' : String(status)),
    `${milliseconds.toFixed(0)} ms`.padStart(8),
    printable(name),
    printable(outcome.code ?? outcome.outcome ?? error ?? ''),
  ]
  out.data(columns.join('  ').trimEnd())
  if (body !== undefined) out.data(printable(body))
  if (kind === expect) return
  const known = status === 401 ? sending.hint : undefined
  const hint =
    expect === 'refused' && kind === 'taken'
      ? 'accepted, but it must be refused: the app does not verify signatures'
      : (known ?? hintFor({ ...answer, ...outcome }))
  if (hint === undefined || hints.has(hint)) return
  hints.add(hint)
  out.say(out.tint('yellow', `  ${hint}`))
}

/** Statuses of a refused delivery; by others of 4xx a wrong address or a limiter answers. */
const refusals: readonly number[] = [400, 401, 403, 413, 415, 422]

function kindOf(status: number): 'taken' | 'refused' | 'failed' {
  if (status >= 200 && status < 300) return 'taken'
  return refusals.includes(status) ? 'refused' : 'failed'
}

function summarise({ out }: Session, tally: SendTally, wanted: number): void {
  const { sent, taken, refused, failed } = tally
  out.record({ type: 'summary', wanted, ...tally })
  const missing = wanted > sent ? `, ${wanted - sent} not sent` : ''
  const all = count(sent, 'delivery', 'deliveries')
  out.say(`${all}: ${taken} accepted, ${refused} refused, ${failed} failed${missing}`)
}
