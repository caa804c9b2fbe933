// A request as it comes in, and one delivery on its way through.

import { type Delivery, HeaderIndex, type HeadersInput } from '../delivery.ts'
import { invalid, kindShown } from '../foundation/check.ts'
import type { WebhookEvent } from '../protocol/events.ts'
import type { HeaderClaims } from '../signature/claims.ts'
import type { Arrived } from '../signature/verifier.ts'
import type { BodyFault, BodyReading } from './intake.ts'

/** A request as an adapter hands it over: its body is read once, and only if it is wanted. */
export interface Incoming {
  readonly method: string
  readonly url?: string
  readonly headers: HeadersInput
  /** The address of the connected client, if the runtime knows it. */
  readonly address?: string | undefined
  /** Keeps a host awake that stops after its reply, for observers that are not done by then. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined
  /** The exact bytes, or the reason why they are missing. */
  read(reading: BodyReading): Promise<Uint8Array | BodyFault>
}

/** The bytes of an event that nobody sent. */
export interface Ingested {
  readonly body: Uint8Array
  readonly tenant: string | undefined
}

/** One delivery on its way through: each fact about it is worked out once, and handed on here. */
export class Walk implements Arrived {
  readonly headers: HeaderIndex
  readonly url: string | undefined
  readonly method: string | undefined
  readonly address: string | undefined
  readonly receivedAt: Date | undefined
  readonly waitUntil: Incoming['waitUntil']
  /** When it began, by `performance.now()`; 0 where nobody observes. */
  readonly began: number
  now = 0
  claims: HeaderClaims = unclaimed
  body: Uint8Array = noBytes
  bytes = 0
  event: WebhookEvent | undefined

  /** @throws WebhookError `OPTION_INVALID` for what is not a delivery at all */
  constructor(of: Omit<Delivery, 'body'> & Pick<Incoming, 'waitUntil'>, isObserved: boolean) {
    if (typeof of?.headers !== 'object' || of.headers === null) {
      throw invalid(
        `expected a delivery { body, headers }, got ${kindShown(of)}. In tests make one by await signedDelivery(event)`,
      )
    }
    this.headers = new HeaderIndex(of.headers)
    this.url = of.url
    this.method = of.method
    this.address = of.address
    this.receivedAt = of.receivedAt
    this.waitUntil = of.waitUntil
    this.began = isObserved ? performance.now() : 0
  }
}

const unclaimed: HeaderClaims = { ok: false, code: 'SIGNATURE_MISSING' }
const noBytes = new Uint8Array()

const faultCodes: ReadonlySet<unknown> = new Set<BodyFault['code']>([
  ...(['BODY_TOO_LARGE', 'BODY_INCOMPLETE', 'BODY_CONSUMED', 'OVERLOADED', 'DRAINING'] as const),
])

/** Its code and message; what else a `read` of one's own gives is a body that is gone. */
export function faultOf(
  fault: BodyFault,
): readonly [code: BodyFault['code'], message: string | undefined] {
  if (faultCodes.has(fault?.code)) return [fault.code, fault.message]
  const message = `\`read\` must resolve to the exact bytes (a Uint8Array) or a fault, got ${kindShown(fault)}: read the request without parsing it`
  return ['BODY_CONSUMED', message]
}
