// The part of the port that moves an inbox to another engine: pages of rows out, rows in, and
// counts. Both SQL engines hold the same tables.

/** The columns of each table, by their types; the first is the key. Tables are copied in this order. */
export const copyTables = {
  settings: 'name text, value bytes',
  relations: 'lane text, related text, at number',
  marks: 'lane text, at number, final boolean, touched number, decision text',
  keys: 'key text, entry text, digest text, name text, at number',
  contents: 'seq number, metadata bytes, body bytes',
  handled: 'seq number, handler text',
  entries: `seq number, id text, state text, lane text, related text, name text, received_name text,
    source text, occurred_at number, stored_at number, bytes number, attempt number,
    generation number, fence number, lease_until number, due number, settled_at number, reason text,
    failures json, conflict_of text, erased boolean`,
  lanes: 'lane text, head number, due number, floor number',
} as const

export type CopyTable = keyof typeof copyTables
type CopyType = 'text' | 'number' | 'boolean' | 'bytes' | 'json'
/** JSON is text, and a boolean is 0 or 1. */
export type CopyValue = string | number | null | Uint8Array
export type CopyRow = Readonly<Record<string, CopyValue>>
/** Counts by name; they agree in a complete copy. */
export type CopyTally = Readonly<Record<string, number>>

/** The setting that says that a store is being moved, or was. It is not copied. */
export const moveSetting = 'move'
/** The owner of leases in a copy: no process has this number, so that they lapse at once. */
export const noOwner = -1

/** The operations of a store that can be moved. Every call may be repeated. */
export interface CopyStore {
  /** Resolves with the number of other processes that have the inbox open. */
  others(): Promise<number>
  /** Resolves with the rows of the first keys, or with those after `after`. */
  read(table: CopyTable, after?: CopyValue): Promise<readonly CopyRow[]>
  /** Adds rows in one commit; existing rows stay as they are, except settings. */
  add(table: CopyTable, rows: readonly CopyRow[]): Promise<void>
  tally(): Promise<CopyTally>
  /** Ends a copy: numbers of new entries go on after the highest, states are counted. */
  finish(): Promise<void>
}

export interface CopyEngine {
  nameOf(table: CopyTable): string
  parameter(at: number, type: CopyType): string
  /** The condition of settings that belong to the inbox, not to its file. */
  readonly settings: string
  /** A column that the engine does not fill itself. */
  readonly extra?: (table: CopyTable, row: CopyRow) => CopyRow
  readonly endings: readonly string[]
  query(sql: string, values: readonly CopyValue[]): Promise<readonly Record<string, unknown>[]>
}

// Trust is granted here: the keys of the constant are its tables.
export const tableNames = Object.keys(copyTables) as CopyTable[]

const columnsOf = (table: CopyTable) =>
  copyTables[table].split(/,\s+/).map((one) => one.split(' ') as [name: string, type: CopyType])

export const keyOf = (table: CopyTable): string => columnsOf(table)[0]?.[0] ?? ''

/** The operations of a store that can be moved, but for `others`. */
export function sqlCopy(engine: CopyEngine): Omit<CopyStore, 'others'> {
  const { nameOf, query } = engine
  return {
    read: async (table, after) => {
      const values = after === undefined ? [] : [after]
      const rows = await query(pageSql(engine, table, values.length > 0), values)
      return rows.map((row) => toCopyRow(table, row))
    },
    add: async (table, rows) => {
      const all = rows.map((row) => ({ ...row, ...engine.extra?.(table, row) }))
      const names = Object.keys(all[0] ?? {})
      const values = all.flatMap((row: CopyRow) => names.map((name) => row[name] ?? null))
      await query(insertSql(engine, table, { names, rows: rows.length }), values)
    },
    tally: async () => {
      const rows = await query(tallySql(nameOf), [])
      return Object.fromEntries(rows.map(({ what, n }) => [String(what), Number(n)]))
    },
    finish: async () => {
      for (const sql of engine.endings) await query(sql, [])
    },
  }
}

function pageSql(engine: CopyEngine, table: CopyTable, isAfter: boolean): string {
  const [[key, type] = ['', 'text' as const]] = columnsOf(table)
  const columns = columnsOf(table).map(([name, one]) => {
    const as = { json: 'text', boolean: 'int' }[one as string]
    return as ? `cast(${name} as ${as}) as ${name}` : name
  })
  const name = engine.nameOf(table)
  const where = [
    table === 'settings' ? `name <> '${moveSetting}' and ${engine.settings}` : 'true',
    ...(isAfter ? [`${key} > ${engine.parameter(1, type)}`] : []),
  ]
  const keys = table === 'contents' ? 16 : 500
  return `select ${columns.join(', ')} from ${name} where ${key} in (select distinct ${key} from ${name}
    where ${where.join(' and ')} order by ${key} limit ${keys}) order by ${key}`
}

function insertSql(
  engine: CopyEngine,
  table: CopyTable,
  { names, rows }: { readonly names: readonly string[]; readonly rows: number },
): string {
  const types = Object.fromEntries(columnsOf(table))
  let at = 0
  const row = () => names.map((name) => engine.parameter(++at, types[name] ?? 'text')).join(', ')
  const all = Array.from({ length: rows }, () => `(${row()})`)
  const known = table === 'settings' ? '(name) do update set value = excluded.value' : 'do nothing'
  return `insert into ${engine.nameOf(table)} (${names.join(', ')}) values ${all.join(', ')}
    on conflict ${known}`
}

function tallySql(nameOf: CopyEngine['nameOf']): string {
  return [
    ...tableNames
      .filter((table) => table !== 'settings')
      .map((table) => `select '${table}' as what, count(*) as n from ${nameOf(table)}`),
    `select 'bytes', coalesce(sum(length(metadata) + length(body)), 0) from ${nameOf('contents')}`,
    `select 'attempts', coalesce(sum(attempt), 0) from ${nameOf('entries')}`,
    `select state, count(*) from ${nameOf('entries')} group by state`,
  ].join(' union all ')
}

/** Drivers give numbers of 64 bits as text. */
function toCopyRow(table: CopyTable, row: Record<string, unknown>): CopyRow {
  const values = columnsOf(table).map(([name, type]) => {
    const isNumber = (type === 'number' || type === 'boolean') && row[name] !== null
    return [name, isNumber ? Number(row[name]) : row[name]]
  })
  return Object.fromEntries(values)
}
