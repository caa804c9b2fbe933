// The way of a delivery: request → admit → read → verify → keep | handle → reply.
// Everything that a sender can do wrong comes out as an outcome.
import { type Delivery, markVerified } from './delivery.ts'
import type { OutcomeCode } from './errors.ts'
import { isBytes } from './foundation/bytes.ts'
import { admit, declaredLength, faultOf, type Incoming, unsupported } from './intake/intake.ts'
import { type Outcome, refusal } from './outcome/outcome.ts'
import type { Reply } from './outcome/reply.ts'
import { type Passage, type Source, type Steps, toPassage } from './steps.ts'
import { type Outcomes, walk } from './walk.ts'

/** Takes a request over HTTP. Its body is read only if its headers are admitted. */
export async function fromRequest(steps: Steps, request: Incoming): Promise<Reply> {
  const early = steps.replies.beforeDelivery(request)
  if (early) return early
  const work = (passage: Passage) => read(steps, passage, request)
  return pass(steps, request, {
    work,
    end: ({ event }, outcome) => steps.replies.to(outcome, event),
  })
}

/** Takes a delivery whose body other code has read. */
export function fromDelivery(steps: Steps, delivery: Delivery): Promise<Outcome> {
  const work = (passage: Passage) => receive(steps, passage, delivery.body)
  return pass(steps, delivery, { work, end: (_, outcome) => outcome })
}

/** Takes an event without a sender: there is no signature to prove. */
export function fromRecord(steps: Steps, body: Uint8Array, tenant?: string): Promise<Outcome> {
  const work = (passage: Passage) => {
    passage.bytes = body.length
    if (!passage.isCounted) return refusal('DRAINING')
    const receivedAt = steps.milliseconds()
    const delivery = markVerified({ body, headers: [], receivedAt, tenant })
    return walk(steps, passage, { proof: { ok: true, delivery }, source: 'reconcile' })
  }
  return pass(steps, { headers: [] }, { work, end: (_, outcome) => outcome })
}

interface Pass<Result> {
  readonly work: (passage: Passage) => Outcomes
  readonly end: (passage: Passage, outcome: Outcome) => Result | Promise<Result>
}

/** Counts a delivery until its end, and reports its outcome to observers. */
async function pass<Result>(
  steps: Steps,
  source: Source,
  { work, end }: Pass<Result>,
): Promise<Result> {
  const { dispatcher, inFlight, observers } = steps
  if (!dispatcher.isFrozen) dispatcher.freeze()
  const passage = toPassage(source)
  const group = inFlight.enter()
  passage.isCounted = group !== undefined
  try {
    let outcome: Outcomes
    try {
      outcome = work(passage)
      if (outcome instanceof Promise) outcome = await outcome
    } catch (error) {
      // The user's own envelope or schema threw; what a sender did never gets here.
      outcome = { kind: 'failed', code: 'HANDLER_FAILED', error }
    }
    const ended = end(passage, observers.outcome(outcome, passage))
    return ended instanceof Promise ? await ended : ended
  } finally {
    // Not before the reply is made: else the process may end, and the sender repeats the delivery.
    if (group) inFlight.leave(group)
  }
}

/** Reads the body, and holds its bytes until the delivery has its outcome. */
async function read(steps: Steps, passage: Passage, request: Incoming): Promise<Outcome> {
  passage.bytes = declaredLength(passage.headers) ?? 0
  const code = admitted(steps, passage)
  if (code) return notAdmitted(passage, code)
  const reading = steps.intake.begin(request.address)
  try {
    const body = await request.read(reading)
    if (!isBytes(body)) {
      passage.bytes = reading.bytes
      const fault = faultOf(body)
      return refusal(fault.code, fault.message)
    }
    passage.bytes = body.length
    if (steps.inFlight.isEnding) return refusal('DRAINING')
    const fault = reading.complete(body.length)
    const outcome = fault ? refusal(fault.code) : prove(steps, passage, body)
    return outcome instanceof Promise ? await outcome : outcome
  } finally {
    steps.intake.end(reading)
  }
}

function receive(steps: Steps, passage: Passage, body: Uint8Array): Outcomes {
  if (!isBytes(body)) {
    const message = `delivery.body must be the exact bytes (a Uint8Array), got ${typeof body}: read the request without parsing it`
    return refusal('BODY_CONSUMED', message)
  }
  passage.bytes = body.length
  const code = admitted(steps, passage)
  return code ? notAdmitted(passage, code) : prove(steps, passage, body)
}

function notAdmitted({ headers }: Passage, code: OutcomeCode): Outcome {
  const outcome = refusal(code)
  const message = outcome.kind === 'rejected' ? unsupported(headers, code) : undefined
  return message === undefined ? outcome : Object.assign(outcome, { message })
}

/** Why headers alone reject a delivery; decided once for each. */
function admitted(steps: Steps, passage: Passage): OutcomeCode | undefined {
  if (!passage.isCounted) return 'DRAINING'
  const code = admit(passage.headers, passage.bytes, steps.maxBytes)
  // A JWS as body has other types, and proves its form by itself.
  if (code && !(code === 'CONTENT_TYPE_UNSUPPORTED' && steps.verifier.scheme.bodyJws)) return code
  passage.now = steps.milliseconds()
  const claims = steps.verifier.claims.read(passage.headers, passage.now)
  passage.claims = claims
  // The verifier decides on a time outside the tolerance: late or forged.
  return claims.ok || claims.late ? undefined : claims.code
}

function prove(steps: Steps, passage: Passage, body: Uint8Array): Outcomes {
  passage.body = body
  const proof = steps.verifier.prove(passage)
  const source = 'webhook'
  if (!(proof instanceof Promise)) return walk(steps, passage, { proof, source })
  return proof.then((one) => walk(steps, passage, { proof: one, source }))
}
