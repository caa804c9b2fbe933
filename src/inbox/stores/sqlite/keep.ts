// Calls for arrivals: an entry is stored if its keys are new, and moves to its lane later if it
// could not be read at first.
import { maxConflicts } from '../../entry.ts'
import type { Alias, Inserted, NewEntry } from '../../work-store.ts'
import type { CallHandlers } from './calls.ts'
import { type InboxTables, toBlob } from './tables.ts'

interface KnownKey {
  readonly entry: string
  readonly digest: string
  readonly name: string | null
}

type NewKey = Pick<Alias, 'key'> & Partial<Alias>

type KeyMatch =
  | { readonly kind: 'new' }
  | {
      readonly kind: 'duplicate' | 'conflict'
      readonly of: string
      readonly isEvidence: boolean
    }

const isNew = { kind: 'new' } as const

export function keepCalls(
  tables: InboxTables,
): Pick<CallHandlers, 'insert' | 'insertAll' | 'assign'> {
  const { sql, lanes } = tables
  const insert = (entry: NewEntry): Inserted => {
    const match = meet(tables, entry)
    if (match.kind === 'new') {
      lanes.arrive(entry.lane, addEntry(tables, entry, 'stored'), entry.storedAt)
      return { kind: 'stored', id: entry.id }
    }
    const { kind, of, isEvidence } = match
    if (isEvidence) {
      sql(`update idv_entries set reason = 'CONFLICT', conflict_of = ?, settled_at = stored_at
        where seq = ?`).run(of, addEntry(tables, entry, 'skipped'))
    }
    return { kind, id: of }
  }
  return {
    insert,
    insertAll: (entries) => entries.map(insert),
    assign: ({ lease, at, entry }) => {
      const head = tables.held(lease)
      if (!head) return 'lost'
      if (head.erased === 1) {
        tables.skip(head, 'FORGOTTEN', at)
        return 'lost'
      }
      const { seq, id, lane } = head
      const evidence = sql<object>(
        'select 1 from idv_entries where seq = ? and conflict_of is not null',
      )
      // A redriven piece of evidence is not compared again: it would conflict with its first entry.
      const match = evidence.get(seq) ? isNew : meet(tables, entry)
      if (match.kind !== 'new' && !match.isEvidence) {
        tables.erase(head)
        // Evidence against this entry becomes evidence against the first one.
        sql('update idv_entries set conflict_of = ? where conflict_of = ?').run(match.of, id)
        tables.skip(head, 'FORGOTTEN', at)
        return 'duplicate'
      }
      rewrite(tables, seq, entry)
      if (match.kind === 'new') {
        sql(`update idv_entries set state = 'stored', attempt = 0, failures = null, due = ?
          where seq = ?`).run(at, seq)
        tables.moved('leased', 'stored')
        lanes.advance(lane, at)
        lanes.enter({ seq, lane: entry.lane }, at)
        return 'stored'
      }
      sql(`update idv_entries set state = 'skipped', reason = 'CONFLICT', due = null,
        failures = null, settled_at = ?, conflict_of = ? where seq = ?`).run(at, match.of, seq)
      tables.moved('leased', 'skipped')
      lanes.advance(lane, at)
      return 'conflict'
    },
  }
}

function meet(tables: InboxTables, entry: NewEntry): KeyMatch {
  const { id, key, digest, aliases = [] } = entry
  if (key !== undefined && !addKey(tables, entry, { key })) {
    const known = knownKey(tables, key)
    if (!known) throw new Error('a key that was there is gone')
    if (known.entry !== id) return meetKnown(tables, entry, known)
    tables.sql('update idv_keys set digest = ? where key = ?').run(digest, key)
  }
  const first = firstOf(tables, aliases, id)
  if (first !== undefined) {
    // Only this duplicate may name the client.
    tables.lanes.relate(entry)
    if (key !== undefined) {
      tables.sql('update idv_keys set entry = ? where key = ?').run(first, key)
    }
    return { kind: 'duplicate', of: first, isEvidence: false }
  }
  for (const alias of aliases) addKey(tables, entry, alias)
  return isNew
}

function meetKnown(
  tables: InboxTables,
  entry: NewEntry,
  { entry: of, digest }: KnownKey,
): KeyMatch {
  const { key } = entry
  if (digest === entry.digest || digest === '') return { kind: 'duplicate', of, isEvidence: false }
  const count = tables.sql<{ readonly count: number }>(
    'select count(*) as count from idv_keys where key > ? and key < ?',
  )
  const kept = count.get(`${key} `, `${key}!`)?.count ?? 0
  const isEvidence = kept < maxConflicts && addKey(tables, entry, { key: `${key} ${entry.digest}` })
  return { kind: 'conflict', of, isEvidence }
}

/** The id of an entry that reported the same occurrence under another name. */
function firstOf(tables: InboxTables, aliases: readonly Alias[], id: string): string | undefined {
  for (const { key, name } of aliases) {
    const known = knownKey(tables, key)
    if (known && known.name !== name && known.entry !== id) return known.entry
  }
  return undefined
}

function knownKey({ sql }: InboxTables, key: string): KnownKey | undefined {
  return sql<KnownKey>('select entry, digest, name from idv_keys where key = ?').get(key)
}

function addKey({ sql }: InboxTables, entry: NewEntry, { key, name }: NewKey): boolean {
  const { id, digest, storedAt } = entry
  const add = sql('insert into idv_keys values (?, ?, ?, ?, ?) on conflict do nothing')
  return Number(add.run(key, id, digest, name ?? null, storedAt).changes) === 1
}

/** Stores what could be read of the entry by now. */
function rewrite({ sql, lanes }: InboxTables, seq: number, entry: NewEntry): void {
  const { lane, name = null, receivedName = null, occurredAt = null, metadata, body } = entry
  sql(`update idv_entries set lane = ?, related = coalesce(?, related), name = ?,
    received_name = ?, occurred_at = ? where seq = ?`).run(
    ...[lane, lanes.relate(entry), name, receivedName, occurredAt, seq],
  )
  const content = sql('update idv_contents set metadata = ?, body = ? where seq = ?')
  content.run(toBlob(metadata), toBlob(body), seq)
}

function addEntry(tables: InboxTables, entry: NewEntry, state: 'stored' | 'skipped'): number {
  const { id, lane, name = null, receivedName = null, source, occurredAt = null } = entry
  const related = tables.lanes.relate(entry)
  const row = tables
    .sql<{ readonly seq: number }>(`insert into idv_entries
    (id, state, lane, related, name, received_name, source, occurred_at, stored_at, bytes)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning seq`)
    .get(
      ...[id, state, lane, related, name, receivedName, source, occurredAt],
      ...[entry.storedAt, entry.bytes],
    )
  if (!row) throw new Error('the insert gave no row')
  const content = tables.sql('insert into idv_contents values (?, ?, ?)')
  content.run(row.seq, toBlob(entry.metadata), toBlob(entry.body))
  tables.moved(undefined, state)
  return row.seq
}
