// The part of the memory store that the receiver and the worker use.
import { defined } from '../../../foundation/defined.ts'
import { isOpen, isOwnLane } from '../../entry.ts'
import type {
  Assigned,
  Assignment,
  Claimed,
  HighWaterMark,
  Inserted,
  Lease,
  NewEntry,
  Settlement,
  WorkStore,
} from '../../work-store.ts'
import type { KeyMeeting, MemoryRow, MemoryTables } from './tables.ts'

export function workOf(tables: MemoryTables): WorkStore<undefined> {
  const held = ({ id, fence }: Lease): MemoryRow | undefined => {
    const row = tables.byId.get(id)
    return row?.state === 'leased' && row.fence === fence ? row : undefined
  }
  return {
    insert: async (entry) => insert(tables, entry),
    claim: async ({ now, limit, until }) => {
      const entries = tables.due(now, limit).map((row) => {
        Object.assign(row, { state: 'leased', until } as const)
        row.attempt++
        row.fence++
        delete row.due
        return toClaimed(tables, row)
      })
      return defined({ entries, next: tables.next() })
    },
    align: async (alignment) => tables.align(alignment),
    renew: async (leases, until) => {
      for (const lease of leases) {
        const row = held(lease)
        if (row) row.until = until
      }
    },
    lapsed: async (now) => {
      const all = [...tables.byId.values()]
      return all
        .filter(({ state, until }) => state === 'leased' && until <= now)
        .map(({ id, fence, attempt, name, storedAt }) =>
          defined({ id, fence, attempt, name, storedAt }),
        )
    },
    checkpoint: async (lease, handler) => {
      const row = held(lease)
      if (!row?.metadata) return false
      if (handler !== undefined) row.handled.add(handler)
      return true
    },
    settle: async (settlement) => {
      const row = held(settlement.lease)
      if (!row) return settlement.sweeps !== true && isSettled(tables, settlement)
      if (!row.metadata) {
        tables.skip(row, 'FORGOTTEN', settlement.at)
        return false
      }
      settle(tables, row, settlement)
      return true
    },
    assign: async (assignment) => {
      const row = held(assignment.lease)
      if (row?.metadata) return assign(tables, row, assignment)
      if (row) tables.skip(row, 'FORGOTTEN', assignment.at)
      return 'lost'
    },
  }
}

function insert(tables: MemoryTables, entry: NewEntry): Inserted {
  const { kind, entry: id } = tables.meet(entry)
  if (kind === 'new') {
    tables.add(tables.relate(entry), 'stored')
    return { kind: 'stored', id }
  }
  if (kind === 'conflict') {
    const evidence = { reason: 'CONFLICT', conflictOf: id, settledAt: entry.storedAt }
    if (tables.addConflict(entry)) {
      Object.assign(tables.add(tables.relate(entry), 'skipped'), evidence)
    }
    return { kind, id }
  }
  // Only this duplicate may name the person.
  if (kind === 'alias') tables.relate(entry)
  return { kind: 'duplicate', id }
}

function assign(tables: MemoryTables, row: MemoryRow, { at, entry }: Assignment): Assigned {
  // Evidence runs where it was named: it is not a copy of what it conflicts with.
  const own: KeyMeeting = { kind: 'new', entry: row.id }
  const met = row.conflictOf !== undefined ? own : tables.meet(entry)
  if (met.kind === 'new') {
    Object.assign(row, { attempt: 0, failures: [] })
    tables.wait(row, 'stored', at)
    rewrite(tables, row, { at, entry })
    tables.advance(row.lane, at)
    return 'stored'
  }
  if (met.kind === 'conflict' && tables.addConflict(entry)) {
    const evidence = { reason: 'CONFLICT', conflictOf: met.entry, settledAt: at }
    Object.assign(row, { ...evidence, state: 'skipped', failures: [] })
    rewrite(tables, row, { at, entry })
    return 'conflict'
  }
  if (met.kind === 'alias') tables.relate(entry)
  tables.forget(row)
  // Its evidence is of the first one by now, whose entity is known.
  for (const one of tables.byId.values()) if (one.conflictOf === row.id) one.conflictOf = met.entry
  tables.skip(row, 'FORGOTTEN', at)
  return 'duplicate'
}

/** Stores what could be read of an entry by now; the lane in which it was goes on. */
function rewrite(
  tables: MemoryTables,
  row: MemoryRow,
  { at, entry }: Omit<Assignment, 'lease'>,
): void {
  const known = tables.relate(entry)
  const { lane, name, receivedName, occurredAt, metadata, body, related = row.related } = known
  const before = row.lane
  tables.move(row, lane)
  Object.assign(row, { name, receivedName, occurredAt, metadata, body, related })
  tables.advance(before, at)
}

function settle(tables: MemoryTables, row: MemoryRow, settlement: Settlement): void {
  const { to, at, handled } = settlement
  for (const handler of handled) row.handled.add(handler)
  const { failures = [] } = 'failures' in settlement ? settlement : {}
  // A crash or a drain says nothing of handlers: those that failed before stay known.
  if (!isOpen(to === 'released' ? 'stored' : to) || failures.length > 0) row.failures = failures
  if ('reason' in settlement) row.reason = settlement.reason
  if (to === 'released') {
    row.attempt--
    tables.wait(row, 'stored', at)
  } else if (to === 'retry') {
    tables.wait(row, to, settlement.due)
  } else {
    Object.assign(row, { state: to, settledAt: at })
    row.holds = to === 'dead' && settlement.hold && !isOwnLane(row)
  }
  if (to === 'done') {
    delete row.reason
    if (settlement.highWaterMark) raise(tables, row.lane, settlement.highWaterMark, at)
  }
  tables.advance(row.lane, at)
}

function raise(tables: MemoryTables, lane: string, mark: HighWaterMark, touched: number): void {
  const known = tables.marks.get(lane)?.mark
  const at = Math.max(known?.at ?? 0, mark.at ?? 0)
  const raised = defined({
    at: at > 0 ? at : undefined,
    final: mark.final || known?.final === true,
    decision: mark.decision ?? known?.decision,
  })
  tables.marks.set(lane, { mark: raised, touched })
}

/** Whether the entry is as this settlement has left it. */
function isSettled(tables: MemoryTables, { lease, to }: Settlement): boolean {
  const row = tables.byId.get(lease.id)
  const state = to === 'released' ? 'stored' : to
  return row?.metadata !== undefined && row.state === state && row.fence === lease.fence
}

function toClaimed(tables: MemoryTables, row: MemoryRow): Claimed {
  const { id, fence, attempt, seq, name, source, occurredAt, storedAt, metadata, body } = row
  const failed = row.failures.map(({ handler }) => handler)
  return defined({
    ...{ id, fence, attempt, seq, name, source, occurredAt, storedAt },
    // Copies, as other stores give: a handler may decode in place.
    metadata: metadata && new Uint8Array(metadata),
    body: body && new Uint8Array(body),
    handled: [...row.handled],
    failed: failed.length > 0 ? failed : undefined,
    isLast: tables.inLane(row.lane).every((one) => one === row || !isOpen(one.state)) || undefined,
    gap: tables.inLane(row.lane).some((one) => one.state === 'dead' && one.seq < seq),
    highWaterMark: tables.marks.get(row.lane)?.mark,
  })
}
