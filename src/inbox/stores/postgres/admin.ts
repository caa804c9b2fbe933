// Queries of operators, of retention and of moves, beside the work.
import { defined } from '../../../foundation/defined.ts'
import type { AdminStore, LatencyQuery, StoreStats } from '../../admin-store.ts'
import { type CopyStore, noOwner, sqlCopy } from '../../copy-store.ts'
import { forgetByPages } from '../../forget-pages.ts'
import { findSql, latencySql, type SqlDialect, toLatency, toStored } from '../entry-sql.ts'
import type { PostgresValue } from './driver.ts'
import { grace } from './owner.ts'
import { storable, toJson, toNumber } from './rows.ts'
import type { Statements } from './statements.ts'

const none = { stored: 0, leased: 0, retry: 0, done: 0, dead: 0, skipped: 0 }

const statsSql = `select
  (select pg_catalog.json_object_agg(c.state, c.n)::text
    from (select state, sum(n) as n from idv.counts group by state) c) as counts,
  (select stored_at from idv.entries where seq = (select min(head) from idv.lanes)) as oldest,
  (select due from idv.lanes where due is not null and due <= $1::bigint order by due limit 1) as due,
  (select stored_at from idv.entries order by seq desc limit 1) as newest`

const doneColumns = 'e.id, e.lane, e.name, e.seq, e.settled_at'
const behind = `not e.erased and e.settled_at >= $1::bigint
  and (e.settled_at > $1::bigint or e.seq > $2::bigint) order by e.settled_at, e.seq limit $3::int`
const doneSql = `select ${doneColumns} from idv.entries e
  where e.state = 'done' and e.settled_at is not null and ${behind}`
/** The planner takes the index of lanes: without `offset 0` it compares each lane with each entry. */
const doneInLanesSql = `select ${doneColumns} from json_array_elements_text($4::text::json) l
  cross join lateral (select * from idv.entries n where n.lane >= l and n.lane < l || '/' offset 0) e
  where e.state = 'done' and ${behind}`

const latency = latencySql('idv.entries where not erased', 'idv.handled', [
  '$1::bigint',
  '$2::int',
  '$3::bigint',
])

export const dialect: SqlDialect = {
  prefix: 'idv.',
  storable,
  parameter: (at, type) => `$${at}::${type}`,
  list: (parameter) => `select t from json_array_elements_text(${parameter}::json) t`,
  holds: (text, part) => `strpos(${text}, ${part}) > 0`,
  ending: (length) => `right(e.lane, ${length})`,
  failures: 'e.failures::text',
  handlers: 'pg_catalog.json_agg(h.handler order by h.handler)::text',
}

/** Milliseconds for what reads or changes many rows. */
const long = 60_000

export function adminOf(statements: Statements, changed: () => void): AdminStore {
  const latencyOf = async ({ since, limit, target }: LatencyQuery) => {
    const rows = await statements.run(latency, [Math.floor(since), limit, target], long)
    return rows.map(toLatency)
  }
  const change = async (name: 'reopen' | 'dismiss', values: readonly PostgresValue[]) => {
    const answer = await statements.ask(name, values, long)
    changed()
    return answer
  }
  return {
    find: async (query) => {
      const { sql, values } = findSql(query, dialect)
      return (await statements.run(sql, values, long)).map(toStored)
    },
    findDone: async ({ after: { settledAt, seq }, lanes, limit }) => {
      const values = [settledAt, seq, limit, ...(lanes ? [toJson(lanes)] : [])]
      const rows = await statements.run(lanes ? doneInLanesSql : doneSql, values)
      return rows.map(({ id, lane, name, seq, settled_at: at }) => ({
        ...{ id: String(id), lane: String(lane), seq: Number(seq), settledAt: Number(at) },
        ...(name !== null && { name: String(name) }),
      }))
    },
    reopen: async ({ ids, from, now, replay = false, setAside = false }) => {
      const values = [toJson(ids), toJson(from), Math.floor(now), replay, setAside]
      return Number(await change('reopen', values))
    },
    dismiss: async (id, now) => (await change('dismiss', [storable(id), Math.floor(now)])) === true,
    forget: async (lane, now, ofNone = false) => {
      const asked = [storable(lane), Math.floor(now), ofNone]
      const pages = forgetByPages(async ({ open, after, newest = null }) => {
        const values = [...asked, open, after.lane, after.seq, newest]
        const [page] = await statements.call('forget', values, long)
        const { forgotten, at_lane: at, at_seq: seq } = page ?? {}
        const last = typeof at === 'string' ? { lane: at, seq: Number(seq) } : undefined
        return { forgotten: Number(forgotten), newest: Number(page?.newest), last }
      })
      return pages.finally(changed)
    },
    purge: async ({ doneBefore, deadBefore, keysBefore, limit, waits = false }) => {
      const before = [doneBefore, deadBefore, keysBefore].map((time) => Math.floor(time))
      const [row] = await statements.call('purge', [...before, limit, waits], long)
      return { erased: Number(row?.erased), deleted: Number(row?.deleted) }
    },
    stats: async (now, asked) => {
      const row = await statements.first(statsSql, [Math.floor(now)], long)
      const counts: StoreStats['counts'] = {
        ...none,
        ...(row.counts === null ? {} : JSON.parse(String(row.counts))),
      }
      return defined({
        counts,
        oldest: toNumber(row.oldest),
        due: toNumber(row.due),
        newest: toNumber(row.newest),
        latency: asked && (await latencyOf(asked)),
      })
    },
  }
}

const casts = {
  text: '',
  number: '::bigint',
  boolean: '::int::boolean',
  bytes: '',
  json: '::text::json',
}

const othersSql = `select count(*)::int as n from idv.owners o
  where o.owner not in (0, $1::int) and idv.clock() - o.seen < ${grace}`

export function postgresCopy(statements: Statements, owner: { readonly id: number }): CopyStore {
  return {
    others: async () => Number((await statements.first(othersSql, [owner.id])).n),
    ...sqlCopy({
      nameOf: (table) => `idv.${table}`,
      parameter: (at, type) => `$${at}${casts[type]}`,
      settings: 'true',
      query: (sql, values) => statements.run(sql, values, 120_000),
      endings: [
        `update idv.entries set owner = ${noOwner} where state = 'leased'`,
        `with gone as (delete from idv.counts)
          insert into idv.counts select state, count(*) from idv.entries group by state`,
        `select setval(pg_get_serial_sequence('idv.entries', 'seq')::regclass,
          greatest((select max(seq) from idv.entries), 1))`,
      ],
    }),
  }
}
