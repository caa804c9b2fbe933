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
import { findStatement } from './find.ts'
import { latencySql } from './latency.ts'
import { storable, toBytes, toJson, toNumber, toStored } from './rows.ts'
import { type Statements, statementError } from './statements.ts'

const none = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }

const statsSql = `select
  (select json_object_agg(c.state, c.n)::text
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
    const sql = 'insert into idv.settings values ($1::text, $2::bytea) on conflict do nothing'
    await this.#statements.run(sql, [name, initial])
    const value = 'select value from idv.settings where name = $1::text'
    const kept = toBytes((await this.#statements.first(value, [name])).value)
    if (!kept) throw statementError('STORE_FAILED', `the setting ${name} could not be read`)
    return kept
  }

  async remember(name: string, value: Uint8Array): Promise<void> {
    // Of a server that may lose commits: the commit of this one makes all before it durable.
    const sql = `insert into idv.settings select $1::text, $2::bytea
      where set_config('synchronous_commit', case
        when current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then 'on'
        else current_setting('synchronous_commit') end, true) <> ''
      on conflict (name) do update set value = excluded.value`
    await this.#statements.run(sql, [name, value])
  }

  async find(query: StoreQuery): Promise<readonly StoredEntry[]> {
    const { sql, values } = findStatement(query)
    return (await this.#statements.run(sql, values, long)).map(toStored)
  }

  async reopen({ ids, from, now, replay = false }: Reopening): Promise<number> {
    const sql = 'select idv.reopen_1($1::text, $2::text, $3::bigint, $4::boolean) as n'
    const values = [toJson(ids), toJson(from), Math.floor(now), replay]
    return this.#change(sql, values)
  }

  async dismiss(id: string, now: number): Promise<boolean> {
    const sql = 'select idv.dismiss_1($1::text, $2::bigint)::int as n'
    return (await this.#change(sql, [storable(id), Math.floor(now)])) === 1
  }

  async forget(lane: string, now: number): Promise<number> {
    const sql = 'select idv.forget_1($1::text, $2::bigint) as n'
    return this.#change(sql, [storable(lane), Math.floor(now)])
  }

  async purge({ doneBefore, deadBefore, keysBefore, limit }: Purge): Promise<Purged> {
    const sql = 'select * from idv.purge_1($1::bigint, $2::bigint, $3::bigint, $4::int)'
    const before = [doneBefore, deadBefore, keysBefore].map((time) => Math.floor(time))
    const { erased, deleted } = await this.#statements.first(sql, [...before, limit], long)
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

  async #change(sql: string, values: readonly (string | number | boolean)[]): Promise<number> {
    const { n } = await this.#statements.first(sql, values, long)
    this.#changed()
    return Number(n)
  }
}
