// What is kept of a delivery: its exact bytes and the facts around them, sealed to their entry.
import { type HeaderList, markVerified, type VerifiedDelivery } from '../delivery.ts'
import type { Entity } from '../protocol/events.ts'
import type { Seal } from './encryption.ts'
import type { Arrival } from './entry.ts'

interface Facts {
  readonly headers: HeaderList
  readonly url?: string
  readonly receivedAt: number
  readonly secretId?: string
  readonly tenant?: string
  readonly signedId?: string
  readonly key?: string
  readonly entity?: Entity
}

/** Credentials of whoever stands in front of us are nobody's evidence. */
const dropped = /^(authorization|proxy-authorization|cookie|x-api-key)$/

/** The two parts of an entry's content, sealed. */
export interface Content {
  readonly facts: Uint8Array
  readonly body: Uint8Array
}

export function packContent(id: string, { delivery, key, entity }: Arrival, seal: Seal): Content {
  const { headers, url, receivedAt, secretId, tenant, signedId, body } = delivery
  const facts: Facts = {
    headers: headers.filter(([name]) => !dropped.test(name)),
    ...(url !== undefined && { url }),
    receivedAt: receivedAt.getTime(),
    ...(secretId !== undefined && { secretId }),
    ...(tenant !== undefined && { tenant }),
    ...(signedId !== undefined && { signedId }),
    ...(key !== undefined && { key }),
    ...(entity && { entity }),
  }
  return {
    facts: seal.seal(new TextEncoder().encode(JSON.stringify(facts)), `${id}:facts`),
    body: seal.seal(body, `${id}:body`),
  }
}

/** The facts of an entry, or undefined when no key opens them or they are damaged. */
export function unpackFacts(id: string, sealed: Uint8Array, seal: Seal): Facts | undefined {
  const bytes = seal.open(sealed, `${id}:facts`)
  return bytes && factsIn(bytes)
}

/** One damaged row must be that entry's trouble alone. */
function factsIn(bytes: Uint8Array): Facts | undefined {
  try {
    const facts = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Facts> | null
    const isWhole = Array.isArray(facts?.headers) && Number.isFinite(facts.receivedAt)
    return isWhole ? (facts as Facts) : undefined
  } catch {
    return undefined
  }
}

/** The delivery as it was verified, or undefined when no key opens it or it is damaged. */
export function unpackDelivery(
  id: string,
  content: Content,
  seal: Seal,
): VerifiedDelivery | undefined {
  const facts = unpackFacts(id, content.facts, seal)
  const body = seal.open(content.body, `${id}:body`)
  if (!facts || !body) return undefined
  const { key: _, entity: __, receivedAt, ...rest } = facts
  // Only what `verify` had proved was ever kept.
  return markVerified({ ...rest, receivedAt: new Date(receivedAt), body })
}
