// The queries of the receiver and the worker: keep, claim, settle; simultaneous calls form groups.
import { concat } from '../../../foundation/bytes.ts'
import type {
  Alignment,
  Assigned,
  Inserted,
  NewEntry,
  Settlement,
  WorkStore,
} from '../../work-store.ts'
import type { Announcements } from './announcements.ts'
import type { OwnerClaims } from './claims.ts'
import type { PostgresValue } from './driver.ts'
import { GroupQueue } from './group-queue.ts'
import { grace, type Owner } from './owner.ts'
import { toJson, toLapsed, toNumber } from './rows.ts'
import type { Statements } from './statements.ts'
import { ClientTransaction, checkpointValues } from './transaction.ts'

const largest = '9223372036854775807'

/** Tells whether an entry that died since a time holds a lane. */
const isHeldSql = `select exists (
  select 1 from idv.entries e join idv.lanes l on l.lane = e.lane and l.head = e.seq
    where e.state = 'dead' and not e.erased and e.settled_at >= $1::bigint) as held`

/** Milliseconds for which a settlement may have been under way, or a clock behind. */
const overlap = 600_000

export interface WorkDeps {
  readonly statements: Statements
  readonly owner: Owner
  readonly announcements: Announcements
  readonly claims: OwnerClaims
}

type PostgresWork = WorkStore & Required<Pick<WorkStore, 'refresh' | 'free'>>

export function workOf(deps: WorkDeps): PostgresWork {
  const { statements, owner, announcements, claims } = deps
  const inserts = new GroupQueue((groups: readonly (readonly NewEntry[])[]) => keep(deps, groups))
  const insertAll: WorkStore['insertAll'] = (entries, signal) =>
    inserts.call(entries, sizeOf(entries), signal)
  const settlements = new GroupQueue((group: readonly Settlement[]) => settle(deps, group))
  return {
    insert: async (entry, signal) => (await insertAll([entry], signal))[0] as Inserted,
    insertAll,
    claim: async (request) => {
      await owner.watch()
      const result = await claims.claim(request)
      const { entries, next } = result
      // More waits than this process takes: others may have looked before it was due.
      const isMore = entries.length >= request.limit && next !== undefined && next <= request.now
      if (isMore) announcements.announce()
      return result
    },
    ...lanesOf(deps),
    renew: async (leases, until) => {
      if (leases.length === 0) return
      await statements.call('renew', [owner.id, toJson(leases), Math.floor(until)])
    },
    lapsed: async (now) => {
      await owner.watch()
      const sql = 'select * from idv.lapsed($1::int, $2::bigint, $3::int)'
      return (await statements.run(sql, [owner.id, Math.floor(now), grace])).map(toLapsed)
    },
    checkpoint: async (lease, handler) =>
      (await statements.ask('checkpoint', checkpointValues(lease, handler))) === true,
    settle: (settlement) => settlements.call(settlement),
    assign: async ({ lease, at, entry }) => {
      const { metadata, body, storedAt: _, ...rest } = entry
      const { fence, owner: holder = 0 } = lease
      const json = toJson({ ...rest, metadata: metadata.length })
      const values = [json, concat([metadata, body]), fence, holder, Math.floor(at)]
      const [row] = await statements.call('assign', values)
      // A claim that ran beside this statement has not seen the lanes that go on.
      claims.window.lower(toNumber(row?.due))
      announcements.announce()
      announcements.wake()
      return row?.kind as Assigned
    },
    transaction: (lease, handler) => ClientTransaction.begin(statements, lease, handler),
    refresh: () => owner.refresh(),
  }
}

function lanesOf({ statements, announcements, claims }: WorkDeps) {
  /** Until then no lane is held. */
  let freed = 0
  const freeAll = async (now: number) => {
    while ((await statements.ask('free_lanes', [now])) === true);
    freed = now
  }
  const alignLanes = async (now: number, latest: number) => {
    // Behind whatever is due now.
    let after: readonly PostgresValue[] | undefined = [now, largest]
    while (after) {
      const [page] = await statements.call('align_lanes', [now, latest, ...after])
      after = page?.more === true ? [String(page.at_due), String(page.at_head)] : undefined
    }
  }
  return {
    align: async ({ now, latest, free }: Alignment) => {
      const [at, last] = [Math.floor(now), Math.floor(latest)]
      // An entry that a page has changed is not found again.
      while ((await statements.ask('align_retries', [at, last])) === true);
      await alignLanes(at, last)
      if (free) await freeAll(at)
      claims.window.reset()
    },
    /** Looks first for entries that died lately, which is quick however many are dead. */
    free: async (now: number) => {
      const at = Math.floor(now)
      const since = Math.min(freed, at) - overlap
      if ((await statements.first(isHeldSql, [since])).held !== true) {
        freed = at
        return
      }
      await freeAll(at)
      claims.window.reset()
      announcements.wake()
    },
  }
}

async function keep(
  { statements, announcements, claims }: WorkDeps,
  groups: readonly (readonly NewEntry[])[],
): Promise<readonly (readonly Inserted[])[]> {
  let at = 1
  const entries = groups.flat()
  const list = entries.map((entry, ord) => {
    const { metadata, body, storedAt, ...rest } = entry
    const place = { at, metadata: metadata.length, body: body.length }
    at += metadata.length + body.length
    return { ord, ...rest, storedAt: Math.floor(storedAt), ...place }
  })
  const bytes = concat(entries.flatMap(({ metadata, body }) => [metadata, body]))
  const rows = await statements.call('keep', [toJson(list), bytes])
  const answers: Inserted[] = []
  for (const { ord, kind, entry } of rows) {
    answers[Number(ord)] = { kind: kind as Inserted['kind'], id: String(entry) }
  }
  const stored = entries.filter((_, ord) => answers[ord]?.kind === 'stored')
  for (const { storedAt } of stored) claims.window.lower(Math.floor(storedAt))
  if (stored.length > 0) announcements.announce()
  return groups.map(({ length }) => answers.splice(0, length))
}

const sizeOf = (entries: readonly NewEntry[]) =>
  entries.reduce((all, { body, metadata }) => all + body.length + metadata.length, 0)

async function settle(
  { statements, announcements, claims }: WorkDeps,
  settlements: readonly Settlement[],
): Promise<readonly boolean[]> {
  const list = settlements.map((settlement, ord) => {
    const { lease, at, ...rest } = settlement
    const due = 'due' in settlement ? { due: Math.floor(settlement.due) } : {}
    return { ord, ...lease, at: Math.floor(at), ...rest, ...due }
  })
  const rows = await statements.call('settle', [toJson(list)])
  const answers: boolean[] = []
  for (const { ord, taken } of rows) answers[Number(ord)] = taken === true
  const dues = rows.flatMap(({ due }) => toNumber(due) ?? [])
  for (const due of dues) claims.window.lower(due)
  // A claim that ran beside this statement has not seen the lanes that go on.
  if (dues.length > 0) announcements.wake()
  announcements.done()
  return answers
}
