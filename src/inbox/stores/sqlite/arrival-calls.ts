// Calls for arrivals: an entry is stored if its keys are new, and moves to its lane later if it
// could not be read at first.
import { mostConflicts } from '../../entry.ts'
import type { Alias, Assigned, Assignment, Inserted, NewEntry } from '../../work-store.ts'
import { prepared, type SqliteDatabase } from './driver.ts'
import { type InboxTables, toBlob } from './tables.ts'

interface KnownKey {
  readonly entry: string
  readonly digest: string
  readonly name: string | null
}

/** The comparison of an entry's keys with the known ones. */
type KeyMatch =
  | { readonly kind: 'new' }
  | {
      readonly kind: 'duplicate' | 'conflict'
      /** The entry that came first. */
      readonly of: string
      /** Whether its bytes are kept as evidence. */
      readonly isEvidence: boolean
    }

const isNew = { kind: 'new' } as const

export class ArrivalCalls {
  readonly #tables: InboxTables
  readonly #sql: ReturnType<typeof arrivalStatements>

  constructor(tables: InboxTables) {
    this.#tables = tables
    this.#sql = arrivalStatements(tables.db)
  }

  readonly insert = (entry: NewEntry): Inserted => {
    const { id, lane, storedAt } = entry
    const match = this.#match(entry)
    if (match.kind === 'new') {
      this.#tables.lanes.arrive(lane, this.#addEntry(entry, 'stored'), storedAt)
      return { kind: 'stored', id }
    }
    if (match.isEvidence) this.#sql.setConflict.run(match.of, this.#addEntry(entry, 'skipped'))
    return { kind: match.kind, id: match.of }
  }

  readonly assign = ({ lease, at, entry }: Assignment): Assigned => {
    const head = this.#tables.held(lease)
    if (!head) return 'lost'
    if (head.erased === 1) {
      this.#tables.skip(head, 'FORGOTTEN', at)
      return 'lost'
    }
    // A redriven piece of evidence is not compared again: it would conflict with its first entry.
    const isNamed = this.#sql.conflictOf.get(head.seq)?.conflictOf !== null
    const match = isNamed ? isNew : this.#match(entry)
    if (match.kind !== 'new' && !match.isEvidence) {
      this.#tables.erase(head)
      // Evidence against this entry becomes evidence against the first one.
      this.#sql.moveEvidence.run(match.of, head.id)
      this.#tables.skip(head, 'FORGOTTEN', at)
      return 'duplicate'
    }
    this.#rewrite(head.seq, entry)
    const state = match.kind === 'new' ? 'stored' : 'skipped'
    if (match.kind === 'new') this.#sql.begin.run(at, head.seq)
    else this.#sql.endConflict.run(at, match.of, head.seq)
    this.#tables.moved('leased', state)
    this.#tables.lanes.advance(head.lane, at)
    if (state === 'stored') this.#tables.lanes.enter({ seq: head.seq, lane: entry.lane }, at)
    return state === 'stored' ? state : 'conflict'
  }

  #addKey(key: string, { id, digest, storedAt }: NewEntry, name: string | null = null): boolean {
    return Number(this.#sql.addKey.run(key, id, digest, name, storedAt).changes) === 1
  }

  /** Compares the keys of an entry with the known ones and adds the new ones. */
  #match(entry: NewEntry): KeyMatch {
    const { id, key, aliases = [] } = entry
    if (key !== undefined && !this.#addKey(key, entry)) {
      const known = this.#sql.key.get(key)
      if (!known) throw new Error('a key that was there is gone')
      if (known.entry !== id) return this.#matchKnown(entry, known)
      this.#sql.setDigest.run(entry.digest, key)
    }
    const first = this.#firstOf(aliases, id)
    if (first !== undefined) {
      // This duplicate may be the only one that names the client.
      this.#tables.lanes.relate(entry)
      if (key !== undefined) this.#sql.moveKey.run(first, key)
      return { kind: 'duplicate', of: first, isEvidence: false }
    }
    for (const { key: alias, name } of aliases) this.#addKey(alias, entry, name)
    return isNew
  }

  #matchKnown(entry: NewEntry, { entry: of, digest }: KnownKey): KeyMatch {
    const { key } = entry
    if (digest === entry.digest || digest === '')
      return { kind: 'duplicate', of, isEvidence: false }
    const kept = this.#sql.countKeys.get(`${key} `, `${key}!`)?.count ?? 0
    const isEvidence = kept < mostConflicts && this.#addKey(`${key} ${entry.digest}`, entry)
    return { kind: 'conflict', of, isEvidence }
  }

  /** The id of an entry that reported the same occurrence under another name. */
  #firstOf(aliases: readonly Alias[], id: string): string | undefined {
    for (const { key, name } of aliases) {
      const known = this.#sql.key.get(key)
      if (known && known.name !== name && known.entry !== id) return known.entry
    }
    return undefined
  }

  /** Stores what could be read of the entry by now. */
  #rewrite(seq: number, entry: NewEntry): void {
    const { lane, name = null, receivedName = null, occurredAt = null, metadata, body } = entry
    const related = this.#tables.lanes.relate(entry)
    this.#sql.rewrite.run(lane, related, name, receivedName, occurredAt, seq)
    this.#sql.setContent.run(toBlob(metadata), toBlob(body), seq)
  }

  #addEntry(entry: NewEntry, state: 'stored' | 'skipped'): number {
    const { id, lane, name = null, receivedName = null, source, occurredAt = null } = entry
    const related = this.#tables.lanes.relate(entry)
    const { storedAt, bytes } = entry
    const values = [id, state, lane, related, name, receivedName, source, occurredAt] as const
    const row = this.#sql.insert.get(...values, storedAt, bytes)
    if (!row) throw new Error('the insert gave no row')
    this.#sql.addContent.run(row.seq, toBlob(entry.metadata), toBlob(entry.body))
    this.#tables.moved(undefined, state)
    return row.seq
  }
}

function arrivalStatements(db: SqliteDatabase) {
  const make = <Row = never>(sql: string) => prepared<Row>(db, sql)
  return {
    addKey: make('insert into idv_keys values (?, ?, ?, ?, ?) on conflict do nothing'),
    key: make<KnownKey>('select entry, digest, name from idv_keys where key = ?'),
    countKeys: make<{ readonly count: number }>(
      'select count(*) as count from idv_keys where key > ? and key < ?',
    ),
    moveKey: make('update idv_keys set entry = ? where key = ?'),
    insert: make<{ readonly seq: number }>(`insert into idv_entries
      (id, state, lane, related, name, received_name, source, occurred_at, stored_at, bytes)
      values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning seq`),
    addContent: make('insert into idv_contents values (?, ?, ?)'),
    setConflict: make(`update idv_entries set reason = 'CONFLICT', conflict_of = ?,
      settled_at = stored_at where seq = ?`),
    begin: make(`update idv_entries set state = 'stored', attempt = 0, failures = null, due = ?
      where seq = ?`),
    endConflict: make(`update idv_entries set state = 'skipped', reason = 'CONFLICT', due = null,
      failures = null, settled_at = ?, conflict_of = ? where seq = ?`),
    moveEvidence: make('update idv_entries set conflict_of = ? where conflict_of = ?'),
    conflictOf: make<{ readonly conflictOf: string | null }>(
      'select conflict_of as conflictOf from idv_entries where seq = ?',
    ),
    setDigest: make('update idv_keys set digest = ? where key = ?'),
    rewrite: make(`update idv_entries set lane = ?, related = coalesce(?, related), name = ?,
      received_name = ?, occurred_at = ? where seq = ?`),
    setContent: make('update idv_contents set metadata = ?, body = ? where seq = ?'),
  }
}
