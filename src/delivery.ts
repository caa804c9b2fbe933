// One HTTP request from the sender, as it arrived, and the proof that it was verified.
// Its bytes are never changed and its headers never trusted before verify.ts has spoken.
import { WebhookError } from './errors.ts'

/** What headers may be given as: a `Headers`, pairs, or a record (a list is a repeated header). */
export type HeadersInput =
  | Iterable<readonly [string, string]>
  | Readonly<Record<string, string | readonly string[] | undefined>>

/** One request from the sender: `body` is its exact bytes. */
export interface Delivery {
  readonly body: Uint8Array
  readonly headers: HeadersInput
  /** Where it was sent, for schemes that sign the address. */
  readonly url?: string | undefined
  readonly receivedAt?: Date | undefined
}

/** Header names in lower case, each occurrence by itself, in their order. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

declare const verified: unique symbol

/** A delivery whose bytes a holder of a secret has signed. Only `verify` makes one. */
export interface VerifiedDelivery extends Delivery {
  readonly headers: HeaderList
  readonly receivedAt: Date
  /** Which of the configured secrets matched, where it has an id. */
  readonly secretId?: string
  /** Whose secret it is, where that has a tenant. */
  readonly tenant?: string
  /** The id that the scheme signs, where it signs one. */
  readonly signedId?: string
  readonly [verified]: true
}

const proven = new WeakSet<object>()

/** Grants trust: called by verify.ts, and for bytes that were verified before they were kept. */
export function markVerified(delivery: Omit<VerifiedDelivery, typeof verified>): VerifiedDelivery {
  const granted = Object.freeze({ ...delivery }) as VerifiedDelivery
  proven.add(granted)
  return granted
}

/**
 * Refuses bytes that nobody has proved.
 *
 * @throws WebhookError `DELIVERY_NOT_VERIFIED`
 */
export function assertVerified(delivery: VerifiedDelivery): void {
  if (proven.has(delivery)) return
  throw new WebhookError(
    'DELIVERY_NOT_VERIFIED',
    'this delivery was not verified: pass what verify() returned, not the delivery that arrived',
  )
}

/** Brings every form of headers into one list. */
export function headerList(headers: HeadersInput): HeaderList {
  if (Symbol.iterator in headers) {
    return Array.from(headers as Iterable<readonly [string, string]>, ([name, value]) => [
      String(name).toLowerCase(),
      String(value),
    ])
  }
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return []
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    return values.map((one) => [name.toLowerCase(), String(one)] as const)
  })
}

/** All values of one header, in whatever case it is named. */
export function headerValues(headers: HeaderList, name: string): string[] {
  const wanted = name.toLowerCase()
  return headers.flatMap(([key, value]) => (key === wanted ? [value] : []))
}

/** Which secret proved it, and whose that is, where it says so. */
export function provedBy({
  secretId,
  tenant,
}: Pick<VerifiedDelivery, 'secretId' | 'tenant'>): Pick<VerifiedDelivery, 'secretId' | 'tenant'> {
  return { ...(secretId !== undefined && { secretId }), ...(tenant !== undefined && { tenant }) }
}

/** Of two tenants that use the same ids too: the services that handlers call must tell them apart. */
export function idempotencyKeyOf(
  key: string,
  { tenant }: Pick<VerifiedDelivery, 'tenant'>,
): string {
  return tenant === undefined ? key : `${tenant}:${key}`
}
