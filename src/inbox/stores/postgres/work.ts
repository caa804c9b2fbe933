// Queries of the receiver and the worker: keep, claim, settle, in groups where calls coincide.
import { concat } from '../../../foundation/bytes.ts'
import type {
  Assigned,
  Inserted,
  Lease,
  NewEntry,
  Settlement,
  StoreTx,
  WorkStore,
} from '../../work-store.ts'
import type { Announcements } from './announcements.ts'
import { OwnerClaims } from './claims.ts'
import type { PostgresValue } from './driver.ts'
import { GroupQueue } from './group-queue.ts'
import { grace, type Owner } from './owner.ts'
import { toJson, toLapsed, toNumber } from './rows.ts'
import type { Statements } from './statements.ts'
import { ClientTransaction, checkpointValues } from './transaction.ts'

/** Postgres's largest bigint. */
const largest = '9223372036854775807'

/** Whether a lane is held by an entry that died since a time. */
const isHeldSql = `select exists (
  select 1 from idv.entries e join idv.lanes l on l.lane = e.lane and l.head = e.seq
    where e.state = 'dead' and not e.erased and e.settled_at >= $1::bigint) as held`

/** Milliseconds for which a settlement may have been under way, or a clock behind. */
const overlap = 600_000

/** The part of the store that receivers and workers use; its methods are spread into the store. */
export class PostgresWork implements WorkStore {
  readonly #statements: Statements
  readonly #owner: Owner
  readonly #announcements: Announcements
  readonly #claims: OwnerClaims
  readonly #inserts: GroupQueue<NewEntry, Inserted>
  readonly #settlements: GroupQueue<Settlement, { readonly taken: boolean }>
  /** Until then no lane is held. */
  #freed = 0

  constructor(statements: Statements, owner: Owner, announcements: Announcements) {
    this.#statements = statements
    this.#owner = owner
    this.#announcements = announcements
    this.#claims = new OwnerClaims(statements, owner)
    this.#inserts = new GroupQueue((entries) => this.#keep(entries))
    this.#settlements = new GroupQueue((settlements) => this.#settle(settlements))
  }

  get window(): OwnerClaims['window'] {
    return this.#claims.window
  }

  readonly insert: WorkStore['insert'] = (entry, signal) =>
    this.#inserts.call(entry, entry.body.length + entry.metadata.length, signal)

  readonly claim: WorkStore['claim'] = async (request) => {
    await this.#owner.watch()
    const result = await this.#claims.claim(request)
    const { entries, next } = result
    // More waits than this process takes: others may have looked before it was due.
    const isMore = entries.length >= request.limit && next !== undefined && next <= request.now
    if (isMore) this.#announcements.announce()
    return result
  }

  readonly align: WorkStore['align'] = async ({ now, latest, free }) => {
    const [at, last] = [Math.floor(now), Math.floor(latest)]
    // What a page has changed is not found again.
    while ((await this.#statements.ask('align_retries', [at, last])) === true);
    await this.#alignLanes(at, last)
    if (free) await this.#freeAll(at)
    this.window.reset()
  }

  /** A look at what died since the last one costs little, however much is dead. */
  readonly free = async (now: number): Promise<void> => {
    const at = Math.floor(now)
    const since = Math.min(this.#freed, at) - overlap
    if ((await this.#statements.first(isHeldSql, [since])).held !== true) {
      this.#freed = at
      return
    }
    await this.#freeAll(at)
    this.window.reset()
    this.#announcements.wake()
  }

  async #freeAll(now: number): Promise<void> {
    while ((await this.#statements.ask('free_lanes', [now])) === true);
    this.#freed = now
  }

  async #alignLanes(now: number, latest: number): Promise<void> {
    // Behind whatever is due now.
    let after: readonly PostgresValue[] | undefined = [now, largest]
    while (after) {
      const [page] = await this.#statements.call('align_lanes', [now, latest, ...after])
      after = page?.more === true ? [String(page.at_due), String(page.at_head)] : undefined
    }
  }

  readonly renew: WorkStore['renew'] = async (leases, until) => {
    if (leases.length === 0) return
    await this.#statements.call('renew', [this.#owner.id, toJson(leases), Math.floor(until)])
  }

  readonly lapsed: WorkStore['lapsed'] = async (now) => {
    await this.#owner.watch()
    const sql = 'select * from idv.lapsed($1::int, $2::bigint, $3::int)'
    const rows = await this.#statements.run(sql, [this.#owner.id, Math.floor(now), grace])
    return rows.map(toLapsed)
  }

  readonly checkpoint: WorkStore['checkpoint'] = async (lease, handler) =>
    (await this.#statements.ask('checkpoint', checkpointValues(lease, handler))) === true

  readonly settle: WorkStore['settle'] = async (settlement) =>
    (await this.#settlements.call(settlement)).taken

  readonly assign: WorkStore['assign'] = async ({ lease, at, entry }) => {
    const { metadata, body, storedAt: _, ...rest } = entry
    const { fence, owner = 0 } = lease
    const json = toJson({ ...rest, metadata: metadata.length })
    const values = [json, concat([metadata, body]), fence, owner, Math.floor(at)]
    const [row] = await this.#statements.call('assign', values)
    // A claim that ran beside this statement has not seen the lanes that go on.
    this.window.lower(toNumber(row?.due))
    this.#announcements.announce()
    this.#announcements.wake()
    return row?.kind as Assigned
  }

  readonly transaction = (lease: Lease, handler: string): Promise<StoreTx> =>
    ClientTransaction.begin(this.#statements, lease, handler)

  readonly refresh = (): Promise<void> => this.#owner.refresh()

  async #keep(entries: readonly NewEntry[]): Promise<readonly Inserted[]> {
    let at = 1
    const list = entries.map((entry, ord) => {
      const { metadata, body, storedAt, ...rest } = entry
      const place = { at, metadata: metadata.length, body: body.length }
      at += metadata.length + body.length
      return { ord, ...rest, storedAt: Math.floor(storedAt), ...place }
    })
    const bytes = concat(entries.flatMap(({ metadata, body }) => [metadata, body]))
    const rows = await this.#statements.call('keep', [toJson(list), bytes])
    const answers: Inserted[] = []
    for (const { ord, kind, entry } of rows) {
      answers[Number(ord)] = { kind: kind as Inserted['kind'], id: String(entry) }
    }
    const stored = entries.filter((_, ord) => answers[ord]?.kind === 'stored')
    for (const { storedAt } of stored) this.window.lower(Math.floor(storedAt))
    if (stored.length > 0) this.#announcements.announce()
    return answers
  }

  async #settle(settlements: readonly Settlement[]): Promise<readonly { taken: boolean }[]> {
    const list = settlements.map((settlement, ord) => {
      const { lease, at, ...rest } = settlement
      const due = 'due' in settlement ? { due: Math.floor(settlement.due) } : {}
      return { ord, ...lease, at: Math.floor(at), ...rest, ...due }
    })
    const rows = await this.#statements.call('settle', [toJson(list)])
    const answers: { taken: boolean }[] = []
    const dues = rows.flatMap(({ due }) => toNumber(due) ?? [])
    for (const { ord, taken } of rows) answers[Number(ord)] = { taken: taken === true }
    for (const due of dues) this.window.lower(due)
    // A claim that ran beside this statement has not seen the lanes that go on.
    if (dues.length > 0) this.#announcements.wake()
    return answers
  }
}
