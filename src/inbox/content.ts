// The content of an entry: the exact bytes of a delivery and its metadata, encrypted for it.

import { type HeaderList, markVerified, type VerifiedDelivery } from '../delivery.ts'
import { defined } from '../foundation/defined.ts'
import type { Entity } from '../protocol/events.ts'
import type { Authenticity } from '../protocol/scheme-definition.ts'
import type { Encryption } from './encryption.ts'
import type { Arrival } from './entry.ts'
import type { Claimed } from './work-store.ts'

interface Metadata {
  readonly headers: HeaderList
  readonly url?: string
  readonly receivedAt: number
  readonly secretId?: string
  readonly tenant?: string
  readonly signedId?: string
  readonly authenticity?: Authenticity
  readonly schemaRejected?: true
  readonly key?: string
  readonly entity?: Entity
}

/** Credentials of a proxy in front of the receiver are not stored. */
const dropped = /^(authorization|proxy-authorization|cookie|x-api-key)$/

/** The two parts of an entry's content, encrypted. */
export interface Content {
  readonly metadata: Uint8Array
  readonly body: Uint8Array
}

export function packContent(
  id: string,
  { delivery, schemaRejected, key, entity }: Arrival,
  encryption: Encryption,
): Content {
  const { headers, url, receivedAt, secretId, tenant, signedId, authenticity, body } = delivery
  const metadata: Metadata = {
    headers: headers.filter(([name]) => !dropped.test(name)),
    receivedAt: receivedAt.getTime(),
    ...defined({ url, secretId, tenant, signedId, authenticity, schemaRejected, key, entity }),
  }
  return {
    metadata: encryption.encrypt(
      new TextEncoder().encode(JSON.stringify(metadata)),
      `${id}:metadata`,
    ),
    body: encryption.encrypt(body, `${id}:body`),
  }
}

/** The metadata of an entry, or undefined when no key opens it or it is damaged. */
export function unpackMetadata(
  id: string,
  encrypted: Uint8Array,
  encryption: Encryption,
): Metadata | undefined {
  const bytes = encryption.decrypt(encrypted, `${id}:metadata`)
  return bytes && metadataIn(bytes)
}

/** Never throws: a damaged row affects only its own entry. */
function metadataIn(bytes: Uint8Array): Metadata | undefined {
  try {
    const metadata = JSON.parse(new TextDecoder().decode(bytes)) as Partial<Metadata> | null
    const isWhole = Array.isArray(metadata?.headers) && Number.isFinite(metadata.receivedAt)
    return isWhole ? (metadata as Metadata) : undefined
  } catch {
    return undefined
  }
}

/** A stored delivery, and whether the receiver that stored it rejects its data. */
interface OpenedContent {
  readonly delivery: VerifiedDelivery
  readonly schemaRejected?: true
}

/** Decrypts a stored delivery; undefined if no key opens it or it is damaged. */
export function unpackContent(
  id: string,
  content: Content,
  encryption: Encryption,
): OpenedContent | undefined {
  const metadata = unpackMetadata(id, content.metadata, encryption)
  const body = encryption.decrypt(content.body, `${id}:body`)
  if (!metadata || !body) return undefined
  const { key: _, entity: __, schemaRejected, receivedAt, ...rest } = metadata
  // Only verified deliveries are ever stored.
  const delivery = markVerified({ ...rest, receivedAt: new Date(receivedAt), body })
  return { delivery, ...defined({ schemaRejected }) }
}

/** Never throws: one bad entry must not stop the others that were claimed with it. */
export function openedOf(
  { id, metadata, body }: Claimed,
  encryption: Encryption,
): Partial<OpenedContent> & { readonly isUnrecoverable?: true } {
  if (!metadata || !body || encryption.isRefused(metadata) || encryption.isRefused(body)) {
    return { isUnrecoverable: true }
  }
  try {
    return unpackContent(id, { metadata, body }, encryption) ?? {}
  } catch {
    return {}
  }
}
