// One row of the memory store, and the views of it that the port gives.
import type { Claimed, Mark, StoredEntry, StoreQuery } from '../store.ts'

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

export interface Row extends Writable<Omit<StoredEntry, 'handled'>> {
  readonly seq: number
  readonly lane: string
  readonly related?: string
  readonly handled: Set<string>
  fence: number
  until: number
}

export function toClaimed(row: Row, gap: boolean, mark: Mark | undefined): Claimed {
  const { id, fence, attempt, name, source, occurredAt, storedAt } = row
  return {
    id,
    fence,
    attempt,
    source,
    storedAt,
    facts: row.facts ?? new Uint8Array(),
    body: row.body ?? new Uint8Array(),
    ...(name !== undefined && { name }),
    ...(occurredAt !== undefined && { occurredAt }),
    handled: [...row.handled],
    gap,
    ...(mark && { mark }),
  }
}

export function toStored(row: Row, withBody: boolean): StoredEntry {
  const { seq: _, lane: __, related: ___, fence: ____, until: _____, body, ...rest } = row
  return { ...rest, handled: [...row.handled], ...(withBody && body && { body }) }
}

/** Whether a row is among those asked for; `entryOf` tells the entry of a key. */
export function fits(
  row: Row,
  { ids, states, name, lane, since, text }: StoreQuery,
  entryOf: (key: string) => string | undefined,
): boolean {
  const isAbout = (id: string) => row.lane === id || row.related === id
  const mentions = (part: string) => row.id.includes(part) || row.name?.includes(part) === true
  return (
    (!ids || ids.includes(row.id)) &&
    (!states || states.includes(row.state)) &&
    (name === undefined || row.name === name) &&
    (lane === undefined || isAbout(lane)) &&
    (since === undefined || row.storedAt >= since) &&
    (!text ||
      mentions(text.part) ||
      text.keys.some((key) => isAbout(key) || entryOf(key) === row.id))
  )
}
