// The tables of an inbox on one connection, and what its calls share: the head of an entry, its
// end, its erasure, and the lanes and entries that a batch has changed.
import type { EntryReason, EntryState } from '../../entry.ts'
import type { Lease } from '../../work-store.ts'
import { type PrepareSql, preparing, type SqliteDatabase } from './driver.ts'
import { Lanes } from './lanes.ts'

/** The part of an entry that decides about it. */
export interface EntryHead {
  readonly seq: number
  readonly id: string
  readonly lane: string
  readonly state: EntryState
  readonly attempt: number
  readonly fence: number
  /** 1 once it was forgotten or is past its retention. */
  readonly erased: number
}

export class InboxTables {
  readonly db: SqliteDatabase
  readonly sql: PrepareSql
  readonly lanes: Lanes
  /** Grows with every owner of the file; 0 for an operator. */
  readonly epoch: number
  /** True if the batch has erased a payload. */
  hasErased = false
  readonly #moved = new Map<EntryState, number>()

  constructor(db: SqliteDatabase, epoch: number) {
    this.db = db
    this.epoch = epoch
    this.sql = preparing(db)
    this.lanes = new Lanes(this.sql)
  }

  head(id: string): EntryHead | undefined {
    return this.sql<EntryHead>(
      'select seq, id, lane, state, attempt, fence, erased from idv_entries where id = ?',
    ).get(id)
  }

  held({ id, fence }: Lease): EntryHead | undefined {
    const head = this.head(id)
    return head?.state === 'leased' && head.fence === fence ? head : undefined
  }

  handled(seq: number): readonly string[] {
    const rows = this.sql<{ readonly handler: string }>(
      'select handler from idv_handled where seq = ?',
    ).all(seq)
    return rows.map(({ handler }) => handler)
  }

  addHandled(seq: number, handler: string): void {
    this.sql('insert into idv_handled values (?, ?) on conflict do nothing').run(seq, handler)
  }

  forgetHandled(seq: number): void {
    this.sql('delete from idv_handled where seq = ?').run(seq)
  }

  newest(): { readonly seq: number; readonly at: number } | undefined {
    return this.sql<{ readonly seq: number; readonly at: number }>(
      'select seq, stored_at as at from idv_entries order by seq desc limit 1',
    ).get()
  }

  setting<Value>(name: string): Value | undefined {
    const sql = 'select value from idv_settings where name = ?'
    return this.sql<{ readonly value: Value }>(sql).get(name)?.value
  }

  /** Notes the change of an entry's state; undefined for an entry that did not or does not exist. */
  moved(from: EntryState | undefined, to: EntryState | undefined): void {
    if (from) this.#moved.set(from, (this.#moved.get(from) ?? 0) - 1)
    if (to) this.#moved.set(to, (this.#moved.get(to) ?? 0) + 1)
  }

  /** Skips an entry; if it was the head of its lane, the lane continues. */
  skip(head: EntryHead, reason: EntryReason, now: number): void {
    const wasHead = this.lanes.isHead(head)
    this.sql(`update idv_entries set state = 'skipped', reason = ?, settled_at = ?, due = null
      where seq = ?`).run(reason, now, head.seq)
    this.moved(head.state, 'skipped')
    if (wasHead) this.lanes.advance(head.lane, now)
  }

  /** Erases the payload of an entry; its keys match any bytes from now on. */
  erase({ seq, id }: Pick<EntryHead, 'seq' | 'id'>): void {
    this.eraseContent(seq)
    this.sql("update idv_keys set digest = '' where entry = ?").run(id)
  }

  eraseContent(seq: number): void {
    this.hasErased = true
    this.sql('delete from idv_contents where seq = ?').run(seq)
    this.sql('update idv_entries set erased = 1, failures = null where seq = ?').run(seq)
  }

  writeCounts(): void {
    const count = this.sql('update idv_counts set count = count + ? where state = ?')
    for (const [state, by] of this.#moved) if (by !== 0) count.run(by, state)
  }

  reset(): void {
    this.#moved.clear()
    this.hasErased = false
  }
}

export type Row = Readonly<Record<string, unknown>>

/** A row without the columns that are null: the statement selects these columns. */
export function present<Columns>(row: Row): Columns {
  const copy: Record<string, unknown> = {}
  for (const key in row) if (row[key] !== null) copy[key] = row[key]
  return copy as Columns
}

/** Node 22 binds empty bytes as null if they came from another thread. */
export function toBlob(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? emptyBlob : bytes
}

const emptyBlob = new Uint8Array(8).subarray(0, 0)
