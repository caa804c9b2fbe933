// The part of the memory store that operators and retention use.
import { defined } from '../../../foundation/defined.ts'
import type {
  AdminStore,
  DoneEntry,
  DoneQuery,
  LatencyQuery,
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoredLatency,
  StoreQuery,
} from '../../admin-store.ts'
import { isOpen, isSetAside } from '../../entry.ts'
import { erase, type MemoryRow, type MemoryTables, tenantOf } from './tables.ts'

export function adminOf(tables: MemoryTables): AdminStore {
  return {
    find: async (query) => find(tables, query),
    findDone: async (query) => findDone(tables, query),
    reopen: async ({ ids, ...reopening }) =>
      ids.filter((id) => reopen(tables, id, reopening)).length,
    dismiss: async (id, now) => {
      const row = tables.byId.get(id)
      if (row?.state !== 'dead') return false
      tables.skip(row, 'DISMISSED', now)
      return true
    },
    forget: async (lane, now, ofNone = false) => {
      const found = forgotten(tables, lane, ofNone)
      for (const row of found) {
        tables.forget(row)
        // A leased entry keeps its lane until its holder is gone: a lane never has two at work.
        if (row.state === 'leased') continue
        if (isOpen(row.state) || row.state === 'dead') tables.skip(row, 'FORGOTTEN', now)
      }
      return found.length
    },
    purge: async (purging) => purge(tables, purging),
    stats: async (now, latency) => {
      const counts = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }
      const all = [...tables.byId.values()]
      for (const { state } of all) counts[state]++
      const next = tables.next()
      return defined({
        counts,
        oldest: tables.oldest(),
        due: next !== undefined && next <= now ? next : undefined,
        newest: all.at(-1)?.storedAt,
        latency: latency && latencyOf(all, latency),
      })
    },
  }
}

function find(tables: MemoryTables, query: StoreQuery): readonly StoredEntry[] {
  const all = [...tables.byId.values()]
  if (!query.oldestFirst) all.reverse()
  // A page after an entry that does not exist is empty.
  const after = all.findIndex(({ id }) => id === query.after)
  const from = query.after === undefined ? 0 : after === -1 ? all.length : after + 1
  const found = all.slice(from).filter((row) => fits(tables, row, query))
  return found.slice(0, query.limit).map((row) => toStored(row, query.withBody === true))
}

function findDone(tables: MemoryTables, { after, lanes, limit }: DoneQuery): readonly DoneEntry[] {
  return [...tables.byId.values()]
    .flatMap(({ id, lane, name, seq, state, settledAt = 0, metadata }) => {
      const isBehind =
        settledAt > after.settledAt || (settledAt === after.settledAt && seq > after.seq)
      const isMeant = !lanes || lanes.includes(lane.split('.', 1)[0] ?? lane)
      const isFound = state === 'done' && metadata && isBehind && isMeant
      return isFound ? [defined({ id, lane, name, seq, settledAt })] : []
    })
    .sort((one, two) => one.settledAt - two.settledAt || one.seq - two.seq)
    .slice(0, limit)
}

function reopen(
  tables: MemoryTables,
  id: string,
  { from, now, replay, setAside }: Omit<Reopening, 'ids'>,
): boolean {
  const row = tables.byId.get(id)
  if (!row?.metadata || !from.includes(row.state)) return false
  if (!setAside && isSetAside(row.reason)) return false
  Object.assign(row, { attempt: 0, failures: [], generation: row.generation + 1 })
  delete row.reason
  delete row.settledAt
  if (replay) {
    row.source = 'replay'
    row.handled.clear()
  }
  tables.wait(row, 'stored', now)
  tables.advance(row.lane, now)
  return true
}

/** The rows with a payload that are about a lane, and the evidence of their conflicts. */
function forgotten(tables: MemoryTables, lane: string, ofNone: boolean): readonly MemoryRow[] {
  const all = [...tables.byId.values()]
  // Erase whole lanes: a verification may have named one client first, and another one later.
  const about = all.filter((row) => isAbout(row, lane)).map((row) => row.lane)
  // An event may have named the client before its entry moved to another lane.
  const related = [...tables.relations].flatMap(([one, of]) => (isOf(of.related, lane) ? one : []))
  const named = new Set([...about, ...related].filter((one) => !(ofNone && tenantOf(one))))
  const ids = new Set(all.filter((row) => named.has(row.lane)).map(({ id }) => id))
  // Evidence that could not be read is in a lane of its own.
  const isEvidence = ({ name, conflictOf = '' }: MemoryRow) =>
    name === undefined && ids.has(conflictOf)
  return all.filter((row) => row.metadata && (named.has(row.lane) || isEvidence(row)))
}

function purge(tables: MemoryTables, purging: Purge): Purged {
  const { doneBefore, deadBefore, keysBefore, limit } = purging
  let erased = 0
  for (const row of tables.byId.values()) {
    const before = row.state === 'done' ? doneBefore : deadBefore
    if (!row.metadata || row.settledAt === undefined || row.settledAt >= before) continue
    if (row.holds) continue
    if (++erased > limit) return { erased: limit, deleted: 0 }
    erase(row)
  }
  let deleted = 0
  for (const [key, { at }] of tables.keys) {
    if (at < keysBefore && deleted < limit) deleted += Number(tables.keys.delete(key))
  }
  const all = [...tables.byId.values()]
  // `forget` finds the evidence of this entry's conflicts by it.
  const unread = all.filter(({ metadata, name }) => metadata && name === undefined)
  const named = new Set(unread.map(({ conflictOf }) => conflictOf))
  for (const row of all) {
    const isPast = !row.metadata && !isOpen(row.state) && row.storedAt < keysBefore
    if (!isPast || deleted >= limit || named.has(row.id)) continue
    tables.delete(row)
    deleted++
  }
  // An entry that may run again is compared with the entries that were done after it.
  for (const [lane, { touched }] of tables.marks) {
    const isNeeded = tables.inLane(lane).some(({ metadata }) => metadata)
    if (touched < keysBefore && !isNeeded) tables.marks.delete(lane)
  }
  for (const [lane, { at }] of tables.relations) {
    if (at < keysBefore && tables.inLane(lane).length === 0) tables.relations.delete(lane)
  }
  return { erased, deleted }
}

function toStored(row: MemoryRow, withBody: boolean): StoredEntry {
  const { seq: _, lane: __, related: ___, fence: ____, until: _____, ...given } = row
  const { ready: ______, holds: _______, metadata, body, ...rest } = given
  return defined({
    ...rest,
    handled: [...row.handled],
    metadata: metadata && new Uint8Array(metadata),
    body: withBody && body ? new Uint8Array(body) : undefined,
  })
}

/** Tells whether a lane or a key is the given one, of any tenant. */
function isOf(name: string | undefined, given: string): boolean {
  return name === given || name?.startsWith(`${given}.`) === true
}

function isAbout(row: MemoryRow, lane: string): boolean {
  return isOf(row.lane, lane) || isOf(row.related, lane)
}

function fits(tables: MemoryTables, row: MemoryRow, query: StoreQuery): boolean {
  const { ids, states, name, lane, tenant, since, text } = query
  const mentions = (part: string) => row.id.includes(part) || row.name?.includes(part) === true
  const isKey = (key: string) =>
    [...tables.keys].some(([known, { entry }]) => entry === row.id && isOf(known, key))
  return (
    (!ids || ids.includes(row.id)) &&
    (!states || states.includes(row.state)) &&
    (name === undefined || row.name === name) &&
    (lane === undefined || isAbout(row, lane)) &&
    (tenant === undefined || tenantOf(row.lane) === tenant) &&
    (since === undefined || row.storedAt >= since) &&
    (!text || mentions(text.part) || text.keys.some((key) => isAbout(row, key) || isKey(key)))
  )
}

function latencyOf(
  rows: readonly MemoryRow[],
  { since, limit, target }: LatencyQuery,
): readonly StoredLatency[] {
  const done = rows
    .filter(({ state, metadata, source }) => state === 'done' && metadata && source !== 'replay')
    .filter(({ settledAt }) => settledAt !== undefined && settledAt >= since)
    .sort((one, other) => Number(other.settledAt) - Number(one.settledAt))
    .slice(0, limit)
  const handlers = [...new Set(done.flatMap(({ handled }) => [...handled]))].sort()
  return handlers.map((handler) => {
    const times = done
      .filter(({ handled }) => handled.has(handler))
      .map((row) => Math.max(0, Number(row.settledAt) - (row.occurredAt ?? row.storedAt)))
      .sort((one, other) => one - other)
    const percentile = (share: number) => times[Math.ceil((share * times.length) / 100) - 1] ?? 0
    const within = times.filter((took) => took <= target).length
    const [p50, p95, p99] = [percentile(50), percentile(95), percentile(99)]
    return { handler, entries: times.length, within, p50, p95, p99, longest: percentile(100) }
  })
}
