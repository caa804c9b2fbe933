// The rows of the memory store by id and by lane, with the keys, relations and marks of lanes.
import type { StoredEntry } from '../../admin-store.ts'
import { type EntryReason, isOpen, maxConflicts } from '../../entry.ts'
import type { Alias, Alignment, HighWaterMark, Inserted, NewEntry } from '../../work-store.ts'

type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }

export interface MemoryRow extends Writable<Omit<StoredEntry, 'handled'>> {
  readonly seq: number
  lane: string
  related?: string | undefined
  readonly handled: Set<string>
  fence: number
  until: number
  /** When it can be claimed, once it is the head of its lane. */
  ready: number
  /** A dead entry that holds its lane until it is redriven or dismissed. */
  holds: boolean
}

interface MemoryKey {
  readonly entry: string
  /** Empty once the payload was erased: then its bytes can no longer be compared. */
  digest: string
  readonly name?: string
  readonly at: number
}

/** The comparison of an entry's keys with the known ones; `id` is the entry that came first. */
export interface ArrivalMatch extends Inserted {
  /** True if its bytes are kept, as a new entry or as evidence of the conflict. */
  readonly isKept: boolean
}

export class MemoryTables {
  readonly byId = new Map<string, MemoryRow>()
  readonly keys = new Map<string, MemoryKey>()
  /** The relation of a lane, as any of its entries named it. */
  readonly relations = new Map<string, { readonly related: string; readonly at: number }>()
  readonly marks = new Map<string, { readonly mark: HighWaterMark; readonly touched: number }>()
  readonly #lanes = new Map<string, MemoryRow[]>()
  #seq = 0
  /** The tenant that was served last. */
  #served = ''

  add(entry: NewEntry, state: MemoryRow['state']): MemoryRow {
    const { key: _, aliases: __, digest: ___, ...given } = entry
    const fresh = { attempt: 0, fence: 0, until: 0, generation: 0, failures: [], holds: false }
    const place = { seq: ++this.#seq, ready: entry.storedAt, related: this.relate(entry) }
    const row = { ...given, ...fresh, ...place, state, handled: new Set<string>() }
    this.byId.set(row.id, row)
    const rows = this.#lanes.get(row.lane)
    if (rows) rows.push(row)
    else this.#lanes.set(row.lane, [row])
    return row
  }

  delete(row: MemoryRow): void {
    this.byId.delete(row.id)
    this.#leave(row)
  }

  #leave(row: MemoryRow): void {
    const rest = this.inLane(row.lane).filter((one) => one !== row)
    if (rest.length > 0) this.#lanes.set(row.lane, rest)
    else this.#lanes.delete(row.lane)
  }

  /** Gives a row another lane; its place is that of its arrival. */
  move(row: MemoryRow, lane: string): void {
    this.#leave(row)
    row.lane = lane
    const rows = [...this.inLane(lane), row].sort((one, two) => one.seq - two.seq)
    this.#lanes.set(lane, rows)
  }

  /** The rows of one lane, in the order of their arrival. */
  inLane(lane: string): readonly MemoryRow[] {
    return this.#lanes.get(lane) ?? []
  }

  /** The heads that can be claimed, the longest waiting first; tenants take turns. */
  due(now: number, limit: number): readonly MemoryRow[] {
    const due = this.#heads().filter(({ ready }) => ready <= now)
    const tenants = [...new Set(due.map(({ lane }) => tenantOf(lane)))].sort()
    const later = tenants.filter((tenant) => tenant > this.#served)
    const order = [...later, ...tenants.slice(0, tenants.length - later.length)]
    const waiting = order.map((tenant) => due.filter(({ lane }) => tenantOf(lane) === tenant))
    const taken: MemoryRow[] = []
    for (let round = 0; taken.length < Math.min(limit, due.length); round++) {
      taken.push(...waiting.flatMap((rows) => rows[round] ?? []).slice(0, limit - taken.length))
    }
    const last = taken.at(-1)
    if (last) this.#served = tenantOf(last.lane)
    return taken
  }

  /** When the next waiting lane is due. */
  next(): number | undefined {
    return this.#heads()[0]?.ready
  }

  /** When the oldest head of a lane was stored. */
  oldest(): number | undefined {
    const heads = [...this.#lanes.values()].flatMap(
      (rows) => rows.find(occupies) ?? rows.find(opens) ?? [],
    )
    return heads.sort((one, two) => one.seq - two.seq)[0]?.storedAt
  }

  /** Makes the oldest open entry the head of its lane. */
  advance(lane: string, now: number): void {
    const head = headOf(this.inLane(lane))
    if (!head) return
    const due = head.due ?? head.storedAt
    // The clock that stored the entry may have been ahead.
    head.ready = head.state === 'stored' ? Math.min(due, now) : due
  }

  align({ now, latest, free }: Alignment): void {
    for (const head of this.#heads()) {
      if (head.state === 'stored') head.ready = Math.min(head.ready, now)
    }
    for (const row of this.byId.values()) {
      if (row.state === 'retry' && (row.due ?? 0) > latest) row.due = row.ready = now
      if (!free || !row.holds) continue
      row.holds = false
      this.advance(row.lane, now)
    }
  }

  /** Opens an entry, or puts it back; its attempt begins once it is due and the head of its lane. */
  wait(row: MemoryRow, state: 'stored' | 'retry', due: number): void {
    Object.assign(row, { state, due, ready: due, holds: false })
  }

  /** Sets an entry aside; its lane goes on. */
  skip(row: MemoryRow, reason: EntryReason, now: number): void {
    const isHead = row.state === 'leased' || row.holds || headOf(this.inLane(row.lane)) === row
    Object.assign(row, { state: 'skipped', reason, settledAt: now, holds: false } as const)
    delete row.due
    if (isHead) this.advance(row.lane, now)
  }

  #heads(): MemoryRow[] {
    const heads = [...this.#lanes.values()].flatMap((rows) => headOf(rows) ?? [])
    return heads.sort((one, two) => one.ready - two.ready || one.seq - two.seq)
  }

  /** The relation of an entry: its own, or the relation that another entry of its lane named. */
  relate({ lane, related, storedAt: at }: NewEntry): string | undefined {
    const known = this.relations.get(lane)
    if (related === undefined) return known?.related
    this.relations.set(lane, { related, at })
    if (!known) for (const row of this.inLane(lane)) row.related ??= related
    return related
  }

  /** Compares the keys of an entry with the known ones, and adds the new ones. */
  meet(entry: NewEntry): ArrivalMatch {
    const { key, digest, aliases = [], id, storedAt: at } = entry
    const known = key === undefined ? undefined : this.keys.get(key)
    if (known && known.entry !== id) {
      const isSame = known.digest === digest || known.digest === ''
      if (isSame) return { kind: 'duplicate', id: known.entry, isKept: false }
      return { kind: 'conflict', id: known.entry, isKept: this.#addConflict(entry) }
    }
    const first = this.#otherName(aliases, id)
    if (key !== undefined) this.keys.set(key, { entry: first ?? id, digest, at })
    if (first !== undefined) {
      // Only this duplicate may name the client.
      this.relate(entry)
      return { kind: 'duplicate', id: first, isKept: false }
    }
    for (const { key: same, name } of aliases) {
      if (!this.keys.has(same)) this.keys.set(same, { entry: id, digest, name, at })
    }
    return { kind: 'stored', id, isKept: true }
  }

  /** False if these bytes are known under the key, or enough others are. */
  #addConflict({ id, key, digest, storedAt: at }: NewEntry): boolean {
    const known = [...this.keys.keys()].filter((one) => one.startsWith(`${key} `))
    if (known.includes(`${key} ${digest}`) || known.length >= maxConflicts) return false
    this.keys.set(`${key} ${digest}`, { entry: id, digest, at })
    return true
  }

  /** Erases the payload and what its handlers said of it; its keys match any bytes from now on. */
  forget(row: MemoryRow): void {
    for (const key of this.keys.values()) if (key.entry === row.id) key.digest = ''
    erase(row)
  }

  /** The entry that reported the same occurrence under another name. */
  #otherName(aliases: readonly Alias[], id: string): string | undefined {
    for (const { key, name } of aliases) {
      const known = this.keys.get(key)
      if (known && known.name !== name && known.entry !== id) return known.entry
    }
    return undefined
  }
}

export function erase(row: MemoryRow): void {
  delete row.metadata
  delete row.body
  row.failures = []
}

/** The oldest open entry, unless one is leased or a dead one holds the lane. */
function headOf(rows: readonly MemoryRow[]): MemoryRow | undefined {
  return rows.some(occupies) ? undefined : rows.find(opens)
}

/** Leased, or dead and holding its lane. */
const occupies = ({ state, holds }: MemoryRow) => state === 'leased' || holds
const opens = ({ state }: MemoryRow) => isOpen(state)

/** The tenant of a lane `<lane>.<tenant>`, or empty. */
export function tenantOf(lane: string): string {
  const dot = lane.indexOf('.')
  return dot === -1 ? '' : lane.slice(dot + 1)
}
