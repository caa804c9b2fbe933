// Moves of a whole inbox: rows as JSON, which every driver sends alike.
import { WebhookError } from '../../../errors.ts'
import {
  type CopyKey,
  type CopyRequest,
  type CopyRow,
  type CopyStore,
  type CopyTable,
  type CopyTally,
  copyTables,
  noOwner,
} from '../../copy-store.ts'
import { ownSettings } from '../../move-state.ts'
import { grace } from './owner.ts'
import { toNumber } from './rows.ts'
import type { Statements } from './statements.ts'

/** Milliseconds for what reads or changes many rows. */
const long = 120_000

/* Of the running server, so that its name, a proxy or the role makes no difference. */
const identitySql = `select pg_catalog.concat_ws(' ', 'idv.entries'::regclass::oid, d.oid,
    (extract(epoch from pg_postmaster_start_time())::numeric * 1000000::numeric)::bigint) as identity
  from pg_database d where d.datname = current_database()`

const othersSql = `select count(*)::int as n from idv.owners o
  where o.owner not in (0, $1::int) and idv.clock_1() - o.seen < ${grace}`

const tallySql = `select pg_catalog.json_build_object(
  ${Object.keys(copyTables)
    .filter((table) => table !== 'settings')
    .map((table) => `'${table}', (select count(*) from idv.${table})`)
    .join(', ')},
  'bytes', (select coalesce(sum(length(metadata) + length(body)), 0) from idv.contents),
  'attempts', (select coalesce(sum(attempt), 0) from idv.entries),
  'states', (select coalesce(pg_catalog.json_object_agg(s.state, s.n), '{}') from
    (select state, count(*) as n from idv.entries group by state) s))::text as tally`

/* Everyone who asked whether the inbox was moved holds a lock on the settings until its commit. */
const quiesceSql = `do $$ begin
  lock table idv.settings in access exclusive mode;
end $$`

const endSql = `with gone as (delete from idv.counts)
  select setval(pg_get_serial_sequence('idv.entries', 'seq')::regclass,
    greatest((select coalesce(max(seq), 0) from idv.entries), 1))`

const countsSql = `insert into idv.counts select state, count(*) from idv.entries group by state`

/* Who writes entries needs no right to their sequence: only a move sets it. */
const rightsSql = `select s.name, coalesce(has_sequence_privilege(s.name, 'UPDATE'), true) as ok,
    quote_ident(current_user::text) as role
  from (select pg_get_serial_sequence('idv.entries', 'seq') as name) s`

export class PostgresCopy implements CopyStore {
  readonly #statements: Statements
  readonly #owner: number

  constructor(statements: Statements, owner: number) {
    this.#statements = statements
    this.#owner = owner
  }

  async identity(): Promise<string> {
    return String((await this.#statements.first(identitySql)).identity)
  }

  async others(): Promise<number> {
    return Number((await this.#statements.first(othersSql, [this.#owner])).n)
  }

  async assertFillable(): Promise<void> {
    const { ok, name, role } = await this.#statements.first(rightsSql)
    if (ok === true) return
    const grant = `grant update on sequence ${name} to ${role}`
    throw new WebhookError(
      'STORE_UNSUITABLE',
      `the database user may not set the numbers of entries: run \`${grant}\` as the owner of the schema, or move as the owner`,
    )
  }

  async read({ table, after, limit }: CopyRequest): Promise<readonly CopyRow[]> {
    const columns = copyTables[table]
    const [key] = columns
    const type = key === 'seq' ? 'bigint' : 'text'
    const isAfter = `($1::${type} is null or ${key} > $1::${type})`
    const isMine = table === 'settings' ? `and name <> all('{${ownSettings.join(',')}}')` : ''
    const page = `select distinct ${key} from idv.${table} where ${isAfter} ${isMine}
      order by ${key} limit $2::int`
    // How JSON would write bytes is a setting of the session.
    const values = columns.map((name) =>
      isBytes(name) ? `encode(${name}, 'hex') as ${name}` : name,
    )
    const sql = `select pg_catalog.row_to_json(t)::text as row
      from (select ${values.join(', ')} from idv.${table} where ${key} in (${page})) t
      order by t.${key}`
    const rows = await this.#statements.run(sql, [after ?? null, limit], long)
    return rows.map(({ row }) => fromJson(JSON.parse(String(row))))
  }

  async add(table: CopyTable, rows: readonly CopyRow[]): Promise<void> {
    const names = copyTables[table].join(', ')
    // A lease comes over as that of a process that is gone.
    const [to, from] =
      table === 'entries'
        ? [`${names}, owner`, `${names}, case state when 'leased' then ${noOwner} end`]
        : [names, names]
    const conflict =
      table === 'settings' ? 'on conflict (name) do update set value = excluded.value' : ignored
    // As text first: a driver that learns of a parameter of type json would encode the text again.
    const sql = `insert into idv.${table} (${to})
      select ${from} from pg_catalog.json_populate_recordset(null::idv.${table}, $1::text::json) ${conflict}`
    const [key] = copyTables[table]
    for (const slice of slices(rows, key)) {
      await this.#statements.run(sql, [`[${slice.join(',')}]`], long)
    }
  }

  async last(table: CopyTable): Promise<CopyKey | undefined> {
    const [key] = copyTables[table]
    const { last } = await this.#statements.first(`select max(${key}) as last from idv.${table}`)
    if (last === null) return undefined
    return key === 'seq' ? toNumber(last) : String(last)
  }

  async tally(): Promise<CopyTally> {
    const { tally } = await this.#statements.first(tallySql, [], long)
    const { states, ...counts } = JSON.parse(String(tally))
    return { ...counts, ...states }
  }

  async quiesce(): Promise<void> {
    await this.#statements.run(quiesceSql, [], long)
  }

  async finish(): Promise<void> {
    await this.#statements.run(endSql, [], long)
    await this.#statements.run(countsSql, [], long)
  }
}

const ignored = 'on conflict do nothing'

function fromJson(row: Record<string, unknown>): CopyRow {
  const value = (one: unknown, name: string) => {
    if (isBytes(name)) return Buffer.from(String(one), 'hex')
    return one !== null && typeof one === 'object' ? JSON.stringify(one) : (one as string | null)
  }
  return Object.fromEntries(Object.entries(row).map(([name, one]) => [name, value(one, name)]))
}

const isBytes = (column: string) => ['value', 'metadata', 'body'].includes(column)

interface JsonRow {
  readonly key: unknown
  readonly text: string
}

/** Letters of JSON in one statement, so that large bodies stay far from the longest string. */
const mostLetters = 16 * 1024 ** 2

/**
 * Rows as texts, a statement's worth at a time. Rows of one key stay together: a move that was
 * interrupted goes on after the last key.
 */
function* slices(rows: readonly CopyRow[], key: string): Generator<readonly string[]> {
  let slice: JsonRow[] = []
  let letters = 0
  for (const row of rows) {
    const one = { key: row[key], text: JSON.stringify(toJsonRow(row)) }
    letters += one.text.length
    if (letters > mostLetters && slice.length > 0 && slice.at(-1)?.key !== one.key) {
      yield slice.map(({ text }) => text)
      slice = []
      letters = one.text.length
    }
    slice.push(one)
  }
  if (slice.length > 0) yield slice.map(({ text }) => text)
}

function toJsonRow(row: CopyRow): Record<string, unknown> {
  const value = (one: CopyRow[string], name: string) => {
    if (one instanceof Uint8Array) return `\\x${Buffer.from(one).toString('hex')}`
    return name === 'failures' && typeof one === 'string' ? JSON.parse(one) : one
  }
  return Object.fromEntries(Object.entries(row).map(([name, one]) => [name, value(one, name)]))
}
