// The way of a proved delivery: an inbox keeps it, or it is parsed and its handlers run.
import { isProbe, toArrival, toArrivals } from './arrival.ts'
import { type VerifiedDelivery, withProof } from './delivery.ts'
import type { Keeper } from './options.ts'
import {
  attempted,
  joinedOutcome,
  noDiagnosis,
  type Outcome,
  proofRefused,
} from './outcome/outcome.ts'
import type { Parsed, ParsedEvent } from './parse.ts'
import type { EventSource } from './protocol/events.ts'
import { probeName } from './protocol/names.ts'
import type { Passage, Steps } from './steps.ts'
import type { DeliveryProof } from './verify.ts'

/** A promise only if something waits, because each promise costs as much as a step. */
export type Outcomes = Outcome | Promise<Outcome>

interface Proven {
  readonly proof: DeliveryProof
  readonly source: EventSource
}

/** The one way of a delivery once its proof holds. */
export function walk(steps: Steps, passage: Passage, { proof, source }: Proven): Outcomes {
  if (!proof.ok) return proofRefused(proof)
  const { delivery } = proof
  if (steps.keeper) return keep(steps, passage, delivery, { source, keeper: steps.keeper })
  return handle(steps, passage, delivery, steps.parser(delivery, source))
}

async function keep(
  steps: Steps,
  passage: Passage,
  delivery: VerifiedDelivery,
  { source, keeper }: { readonly source: EventSource; readonly keeper: Keeper },
): Promise<Outcome> {
  const parsed = steps.peek(delivery, source)
  if (parsed.ok) passage.event = parsed.event
  try {
    if (isProbe(delivery, parsed)) {
      await keeper.check?.()
      return handle(steps, passage, delivery, parsed)
    }
    if (!parsed.ok || !parsed.others) {
      const kept = await keeper.keep(toArrival(delivery, parsed, source))
      return withProof({ ...kept }, delivery)
    }
    if (!keeper.keepAll) throw new TypeError('the inbox has no keepAll')
    const kept = await keeper.keepAll(toArrivals(delivery, parsed, source))
    return withProof({ ...kept }, delivery)
  } catch (error) {
    const message = 'the inbox did not keep the delivery'
    return withProof({ kind: 'failed', code: 'STORE_UNAVAILABLE', message, error }, delivery)
  }
}

/** Handles the events of a body in turn; a failed event does not stop the others. */
async function handleAll(
  steps: Steps,
  passage: Passage,
  delivery: VerifiedDelivery,
  events: readonly ParsedEvent[],
): Promise<Outcome> {
  const outcomes: Outcome[] = []
  for (const event of events) outcomes.push(await handle(steps, passage, delivery, event))
  passage.event = events[0]?.event
  return joinedOutcome(outcomes)
}

/** Reads the decision of an event, then handles the event that it becomes. */
async function decide(
  steps: Steps,
  passage: Passage,
  delivery: VerifiedDelivery,
  parsed: ParsedEvent,
): Promise<Outcome> {
  const { event, key } = parsed
  const found = await steps.decide({ event, key, delivery, attempt: 1 })
  if ('handler' in found) return withProof(attempted(event, [{ ok: false, ...found }]), delivery)
  return handle(steps, passage, delivery, { ...parsed, event: found, isRead: true })
}

function handle(
  steps: Steps,
  passage: Passage,
  delivery: VerifiedDelivery,
  parsed: Parsed,
): Outcomes {
  if (!parsed.ok) {
    const { code, issues } = parsed
    const rejected = { kind: 'rejected', code, diagnose: noDiagnosis } as const
    return withProof(issues ? { ...rejected, issues } : rejected, delivery)
  }
  const { event, key, others } = parsed
  if (others) {
    const { others: _, ...first } = parsed
    return handleAll(steps, passage, delivery, [first, ...others])
  }
  passage.event = event
  if (!parsed.isRead && steps.decisions?.awaits(event)) {
    return decide(steps, passage, delivery, parsed)
  }
  const registrations = event.receivedName === probeName ? [] : steps.dispatcher.match(event)
  if (registrations.length === 0) return withProof({ kind: 'ignored', event }, delivery)
  const lasting = parsed.part === undefined ? undefined : parsed.lasting
  const reports = steps.run({ event, key, lasting, delivery, registrations, attempt: 1 })
  if (!(reports instanceof Promise)) return withProof(attempted(event, reports), delivery)
  return reports.then((all) => withProof(attempted(event, all), delivery))
}
