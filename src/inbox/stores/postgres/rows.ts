// Rows as the port has them: numbers out of what drivers give for 64 bits, text that Postgres takes.

import type { Decision } from '../../../dispatch/finality.ts'
import { isBytes } from '../../../foundation/bytes.ts'
import { defined } from '../../../foundation/defined.ts'
import type { Claimed, HighWaterMark, Lapsed } from '../../work-store.ts'
import type { PostgresRow } from './driver.ts'

/** Postgres has no place for the character NUL, nor UTF-8 for half a pair of surrogates. */
export function storable(text: string): string {
  return text.replaceAll('\0', '\uFFFD').toWellFormed()
}

export function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part) => (typeof part === 'string' ? storable(part) : part))
}

export function toNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value)
}

const toText = (value: unknown) => (value === null ? undefined : String(value))
/** Drivers give a Buffer or a Uint8Array: the port has the latter. */
export function toBytes(value: unknown): Uint8Array | undefined {
  if (!isBytes(value)) return undefined
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
}

function fromBase64(value: unknown): Uint8Array | undefined {
  return typeof value === 'string' ? new Uint8Array(Buffer.from(value, 'base64')) : undefined
}

const toList = (value: unknown): readonly string[] => {
  if (value === null) return []
  return typeof value === 'string' ? JSON.parse(value) : (value as readonly string[])
}

export function toClaimed(row: PostgresRow, owner: number): Claimed {
  return defined({
    id: String(row.id),
    fence: Number(row.fence),
    owner,
    attempt: Number(row.attempt),
    seq: Number(row.seq),
    name: toText(row.name),
    source: row.source as Claimed['source'],
    occurredAt: toNumber(row.occurred_at),
    storedAt: Number(row.stored_at),
    metadata: fromBase64(row.metadata),
    body: fromBase64(row.body),
    handled: toList(row.handled),
    failed: typeof row.failed === 'string' ? toList(row.failed) : undefined,
    isLast: row.is_last === true || undefined,
    gap: row.gap === true,
    highWaterMark: toHighWaterMark(row),
  })
}

function toHighWaterMark(row: PostgresRow): HighWaterMark | undefined {
  const { mark_at: at, mark_final: final, mark_decision: decision } = row
  if (typeof final !== 'boolean') return undefined
  // The value is as this store wrote it.
  const decided = typeof decision === 'string' ? (JSON.parse(decision) as Decision) : undefined
  return defined({ at: toNumber(at), final, decision: decided })
}

export function toLapsed(row: PostgresRow): Lapsed {
  return defined({
    id: String(row.id),
    fence: Number(row.fence),
    owner: Number(row.owner),
    attempt: Number(row.attempt),
    name: toText(row.name),
    storedAt: Number(row.stored_at),
  })
}
