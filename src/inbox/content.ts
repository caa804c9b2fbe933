// The content of an entry: the exact bytes of a delivery and its metadata, encrypted for it.

import { type HeaderList, markVerified, type VerifiedDelivery } from '../delivery.ts'
import type { Entity } from '../protocol/events.ts'
import type { Authenticity } from '../protocol/scheme-definition.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'

interface Metadata {
  readonly headers: HeaderList
  readonly url: string | undefined
  readonly receivedAt: number
  readonly secretId: string | undefined
  readonly tenant: string | undefined
  readonly signedId: string | undefined
  readonly authenticity: Authenticity | undefined
  readonly schemaRejected: true | undefined
  readonly part: number | undefined
  readonly key: string | undefined
  readonly entity: Entity | undefined
}

/** Credentials of a proxy in front of the receiver are not stored. */
const dropped = new Set(['authorization', 'proxy-authorization', 'cookie', 'x-api-key'])

/** The two parts of an entry's content, encrypted. */
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
  const parsed = { schemaRejected, part, key, entity }
  const metadata: Metadata = { headers, receivedAt, url, ...proof, ...parsed }
  const text = new TextEncoder().encode(JSON.stringify(metadata))
  return {
    metadata: encryption.encrypt(text, `${id}:metadata`),
    body: encryption.encrypt(body, `${id}:body`),
  }
}

/** The metadata of an entry; undefined if no key opens it. It throws if they are damaged. */
function metadataOf(
  id: string,
  encrypted: Uint8Array,
  encryption: Encryption,
): Metadata | undefined {
  const bytes = encryption.decrypt(encrypted, `${id}:metadata`)
  if (!bytes) return undefined
  const metadata = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Metadata> | null
  const isWhole = Array.isArray(metadata?.headers) && Number.isFinite(metadata.receivedAt)
  return isWhole ? (metadata as Metadata) : undefined
}

/** The metadata of an entry, or undefined if no key opens them or they are damaged. */
export function unpackMetadata(
  id: string,
  encrypted: Uint8Array,
  encryption: Encryption,
): Metadata | undefined {
  try {
    return metadataOf(id, encrypted, encryption)
  } catch {
    return undefined
  }
}

/** A stored delivery, and whether the receiver that stored it rejects its data. */
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
    const metadata = metadataOf(id, content.metadata, encryption)
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
