// One connection with what all of its calls share: typed statements, the head of an entry, and what
// a batch has moved and erased.
import type { EntryState } from '../../entry.ts'
import type { Lease } from '../../work-store.ts'
import type { SqliteDatabase, SqliteValue } from './driver.ts'

/** A prepared statement; `Row` has the columns that it selects. */
export interface TypedStatement<Row> {
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  get(...values: SqliteValue[]): Row | undefined
  all(...values: SqliteValue[]): Row[]
}

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

export class Connection {
  readonly db: SqliteDatabase
  /** Whether the batch has erased a payload. */
  hasErased = false
  readonly #moved = new Map<EntryState, number>()
  readonly #count: TypedStatement<never>
  readonly #head: TypedStatement<EntryHead>

  constructor(db: SqliteDatabase) {
    this.db = db
    this.#count = this.prepare('update idv_counts set count = count + ? where state = ?')
    this.#head = this.prepare(
      'select seq, id, lane, state, attempt, fence, erased from idv_entries where id = ?',
    )
  }

  prepare<Row = never>(sql: string): TypedStatement<Row> {
    // Trust is granted here: the statement selects the columns of its row.
    return this.db.prepare(sql) as TypedStatement<Row>
  }

  head(id: string): EntryHead | undefined {
    return this.#head.get(id)
  }

  /** The entry if this lease still holds it. */
  held({ id, fence }: Lease): EntryHead | undefined {
    const head = this.#head.get(id)
    return head?.state === 'leased' && head.fence === fence ? head : undefined
  }

  /** Notes the change of an entry's state; undefined for an entry that did not or does not exist. */
  moved(from: EntryState | undefined, to: EntryState | undefined): void {
    if (from) this.#moved.set(from, (this.#moved.get(from) ?? 0) - 1)
    if (to) this.#moved.set(to, (this.#moved.get(to) ?? 0) + 1)
  }

  /** Writes the noted changes into the counts by state. */
  writeCounts(): void {
    for (const [state, by] of this.#moved) if (by !== 0) this.#count.run(by, state)
  }

  /** Forgets what the last batch has noted. */
  reset(): void {
    this.#moved.clear()
    this.hasErased = false
  }
}

/** A row whose optional columns are null if they are absent. */
export type Nullable<Row> = {
  readonly [Key in keyof Row]-?: undefined extends Row[Key] ? Row[Key] | null : Row[Key]
}

type Present<Row> = {
  [Key in keyof Row as null extends Row[Key] ? never : Key]: Row[Key]
} & {
  [Key in keyof Row as null extends Row[Key] ? Key : never]?: NonNullable<Row[Key]>
}

/** A row without the columns that are null. */
export function present<Row extends object>(row: Row): Present<Row> {
  const copy: Record<string, unknown> = {}
  for (const key in row) if (row[key] !== null) copy[key] = row[key]
  // Trust is granted here: exactly the columns that may be null may be missing.
  return copy as Present<Row>
}

/** Node 22 binds empty bytes as null if they came from another thread. */
export function toBlob(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? emptyBlob : bytes
}

const emptyBlob = new Uint8Array(8).subarray(0, 0)
