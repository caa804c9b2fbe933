// The content of an entry: the exact bytes of a delivery and its metadata, encrypted for it.

import { type HeaderList, markVerified, type VerifiedDelivery } from '../delivery.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'

type ProofPart = 'url' | 'secretId' | 'tenant' | 'signedId' | 'authenticity'

interface Metadata
  extends Pick<VerifiedDelivery, ProofPart>,
    Pick<Arrival, 'schemaRejected' | 'part' | 'key' | 'entity'> {
  readonly headers: HeaderList
  readonly receivedAt: number
}

/** Credentials of a proxy in front of the receiver are not stored. */
const dropped = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-api-key'])

export interface Content {
  readonly metadata: Uint8Array
  readonly body: Uint8Array
}

export function packContent(
  id: string,
  { delivery, schemaRejected, part, key, entity }: Arrival,
  encryption: Encryption,
): Content {
  const { url, secretId, tenant, signedId, authenticity, body } = delivery
  const headers: (readonly [string, string])[] = []
  for (const header of delivery.headers) if (!dropped.has(header[0])) headers.push(header)
  const receivedAt = delivery.receivedAt.getTime()
  const proof = { secretId, tenant, signedId, authenticity }
  const metadata = { headers, receivedAt, url, ...proof, schemaRejected, part, key, entity }
  const text = new TextEncoder().encode(JSON.stringify(metadata))
  return {
    metadata: encryption.encrypt(text, `${id}:metadata`),
    body: encryption.encrypt(body, `${id}:body`),
  }
}

/** The metadata of an entry, or undefined if no key opens them or they are damaged. */
export function unpackMetadata(
  id: string,
  encrypted: Uint8Array,
  encryption: Encryption,
): Metadata | undefined {
  try {
    const bytes = encryption.decrypt(encrypted, `${id}:metadata`)
    const metadata = bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Metadata | null)
    const isWhole = Array.isArray(metadata?.headers) && Number.isFinite(metadata.receivedAt)
    return isWhole ? (metadata ?? undefined) : undefined
  } catch {
    return undefined
  }
}

interface OpenedContent {
  readonly delivery: VerifiedDelivery
  readonly part: number | undefined
  readonly schemaRejected?: true
}

/** Decrypts a stored delivery; undefined if no key opens it or it is damaged. */
export function unpackContent(
  id: string,
  content: Content,
  encryption: Encryption,
): OpenedContent | undefined {
  // A damaged row affects only its own entry, not the others that were claimed with it.
  try {
    const metadata = unpackMetadata(id, content.metadata, encryption)
    const body = metadata && encryption.decrypt(content.body, `${id}:body`)
    if (!body) return undefined
    const { key: _, entity: __, part, schemaRejected, receivedAt, ...rest } = metadata
    // Only verified deliveries are ever stored.
    const delivery = markVerified({ ...rest, source: rest, receivedAt, body })
    return schemaRejected ? { delivery, part, schemaRejected } : { delivery, part }
  } catch {
    return undefined
  }
}
