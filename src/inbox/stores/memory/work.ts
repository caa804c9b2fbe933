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
import type { ArrivalMatch, MemoryRow, MemoryTables } from './tables.ts'

export function workOf(tables: MemoryTables): WorkStore<undefined> {
  const held = ({ id, fence }: Lease): MemoryRow | undefined => {
    const row = tables.byId.get(id)
    return row?.state === 'leased' && row.fence === fence ? row : undefined
  }
  return {
    insert: async (entry) => insert(tables, entry),
    insertAll: async (entries) => entries.map((entry) => insert(tables, entry)),
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
  const { kind, id, isKept } = tables.meet(entry)
  if (kind === 'stored') tables.add(entry, kind)
  else if (isKept) {
    const evidence = { reason: 'CONFLICT', conflictOf: id, settledAt: entry.storedAt }
    Object.assign(tables.add(entry, 'skipped'), evidence)
  }
  return { kind, id }
}

function assign(tables: MemoryTables, row: MemoryRow, { at, entry }: Assignment): Assigned {
  // A redriven piece of evidence is not compared again: it would conflict with its first entry.
  const own: ArrivalMatch = { kind: 'stored', id: row.id, isKept: true }
  const { kind, id: first, isKept } = row.conflictOf === undefined ? tables.meet(entry) : own
  if (!isKept) {
    tables.forget(row)
    // Evidence against this entry becomes evidence against the first one.
    for (const one of tables.byId.values()) if (one.conflictOf === row.id) one.conflictOf = first
    tables.skip(row, 'FORGOTTEN', at)
    return 'duplicate'
  }
  row.failures = []
  if (kind === 'conflict') {
    Object.assign(row, { state: 'skipped', reason: 'CONFLICT', conflictOf: first, settledAt: at })
  } else {
    row.attempt = 0
    tables.wait(row, 'stored', at)
  }
  const { lane, name, receivedName, occurredAt, metadata, body } = entry
  const related = tables.relate(entry) ?? row.related
  const before = row.lane
  tables.move(row, lane)
  Object.assign(row, { name, receivedName, occurredAt, metadata, body, related })
  tables.advance(before, at)
  if (kind === 'stored') tables.advance(lane, at)
  return kind
}

function settle(tables: MemoryTables, row: MemoryRow, settlement: Settlement): void {
  const { to, at, handled } = settlement
  for (const handler of handled) row.handled.add(handler)
  const { failures = [] } = 'failures' in settlement ? settlement : {}
  // A crash or a drain says nothing about handlers: earlier failures stay recorded.
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
    Object.assign(row, defined({ name: settlement.name }))
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

/** True if the entry is as this settlement left it. */
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
