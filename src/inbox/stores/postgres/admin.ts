// Queries of operators, of retention and of the inbox itself, beside the work.
import type {
  LatencyQuery,
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoredLatency,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import { forgetByPages } from '../../forget-pages.ts'
import type { PostgresValue } from './driver.ts'
import { findStatement } from './find.ts'
import { latencySql } from './latency.ts'
import { storable, toBytes, toJson, toNumber, toStored } from './rows.ts'
import { type Statements, statementError } from './statements.ts'

const none = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }

const statsSql = `select
  (select pg_catalog.json_object_agg(c.state, c.n)::text
    from (select state, sum(n) as n from idv.counts group by state) c) as counts,
  (select stored_at from idv.entries where seq = (select min(head) from idv.lanes)) as oldest,
  (select due from idv.lanes where due is not null and due <= $1::bigint order by due limit 1) as due,
  (select stored_at from idv.entries order by seq desc limit 1) as newest`

/** Milliseconds for what reads or changes many rows. */
const long = 60_000

/** The operator's side of the store; `changed` is called when lanes may have become due. */
export class PostgresAdmin {
  readonly #statements: Statements
  readonly #changed: () => void

  constructor(statements: Statements, changed: () => void) {
    this.#statements = statements
    this.#changed = changed
  }

  async recall(name: string, initial: Uint8Array): Promise<Uint8Array> {
    await this.#statements.call('recall', [name, initial])
    const kept = await this.setting(name)
    if (!kept) throw statementError('STORE_FAILED', `the setting ${name} could not be read`)
    return kept
  }

  async setting(name: string): Promise<Uint8Array | undefined> {
    const value = 'select value from idv.settings where name = $1::text'
    return toBytes((await this.#statements.first(value, [name])).value)
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    await this.#statements.call('remember', [name, value])
  }

  async find(query: StoreQuery): Promise<readonly StoredEntry[]> {
    const { sql, values } = findStatement(query)
    return (await this.#statements.run(sql, values, long)).map(toStored)
  }

  async reopen({ ids, from, now, replay = false, setAside = false }: Reopening): Promise<number> {
    const values = [toJson(ids), toJson(from), Math.floor(now), replay, setAside]
    return Number(await this.#change('reopen', values))
  }

  async dismiss(id: string, now: number): Promise<boolean> {
    return (await this.#change('dismiss', [storable(id), Math.floor(now)])) === true
  }

  async forget(lane: string, now: number, ofNone = false): Promise<number> {
    const asked = [storable(lane), Math.floor(now), ofNone]
    try {
      return await forgetByPages(async ({ open, after, newest = null }) => {
        const values = [...asked, open, after.lane, after.seq, newest]
        const [page] = await this.#statements.call('forget', values, long)
        const { forgotten, at_lane: at, at_seq: seq } = page ?? {}
        const last = typeof at === 'string' ? { lane: at, seq: Number(seq) } : undefined
        return { forgotten: Number(forgotten), newest: Number(page?.newest), last }
      })
    } finally {
      this.#changed()
    }
  }

  async purge(purge: Purge): Promise<Purged> {
    const { doneBefore, deadBefore, keysBefore, limit, waits = false } = purge
    const before = [doneBefore, deadBefore, keysBefore].map((time) => Math.floor(time))
    const [row] = await this.#statements.call('purge', [...before, limit, waits], long)
    const { erased, deleted } = row ?? {}
    return { erased: Number(erased), deleted: Number(deleted) }
  }

  async stats(now: number, latency?: LatencyQuery): Promise<StoreStats> {
    const row = await this.#statements.first(statsSql, [Math.floor(now)], long)
    const counts = row.counts === null ? {} : JSON.parse(String(row.counts))
    const [oldest, due, newest] = [row.oldest, row.due, row.newest].map(toNumber)
    return {
      counts: { ...none, ...counts },
      ...(oldest !== undefined && { oldest }),
      ...(due !== undefined && { due }),
      ...(newest !== undefined && { newest }),
      ...(latency && { latency: await this.#latency(latency) }),
    }
  }

  async #latency({ since, limit, target }: LatencyQuery): Promise<readonly StoredLatency[]> {
    const values = [Math.floor(since), limit, target]
    const rows = await this.#statements.run(latencySql, values, long)
    return rows.map(({ handler, ...row }) => ({
      handler: String(handler),
      entries: Number(row.entries),
      within: Number(row.within),
      p50: Number(row.p50),
      p95: Number(row.p95),
      p99: Number(row.p99),
      longest: Number(row.longest),
    }))
  }

  async #change(name: 'reopen' | 'dismiss', values: readonly PostgresValue[]): Promise<unknown> {
    const answer = await this.#statements.ask(name, values, long)
    this.#changed()
    return answer
  }
}
