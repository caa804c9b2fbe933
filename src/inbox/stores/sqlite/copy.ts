// Copies a whole inbox into another store, and out of it, on the writer's connection.
import { randomUUID } from 'node:crypto'
import { stat } from 'node:fs/promises'
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
import type { Gives, Takes, WriterMethod } from './calls.ts'
import { prepared, type SqliteValue } from './driver.ts'
import { tenantOf } from './lanes.ts'
import { type InboxTables, toBlob } from './tables.ts'

const tableOf = (table: CopyTable) => (table === 'marks' ? 'idv_high_water_marks' : `idv_${table}`)

/** Columns that are booleans in other stores and 0 or 1 here. */
const flags: readonly string[] = ['final', 'erased']

type SendCall = <M extends WriterMethod>(method: M, ...args: Takes<M>) => Promise<Gives<M>>

/** The port of a move; a database in memory has no path. */
export function copyBy(call: SendCall, path: string | undefined): CopyStore {
  return {
    identity: async () => {
      if (path === undefined) return randomUUID()
      const { dev, ino } = await stat(path, { bigint: true })
      return `file ${ino} of device ${dev}`
    },
    // The owner's lock keeps other processes out.
    others: async () => 0,
    // A process that opened the file may write all of it.
    assertFillable: async () => {},
    read: (request) => call('copyOut', request),
    add: (table, rows) => call('copyIn', table, rows),
    last: (table) => call('copyLast', table),
    tally: () => call('copyTally'),
    // One transaction writes at a time: storing the setting has waited for the others.
    quiesce: async () => {},
    restore: () => call('copyRestore'),
    finish: () => call('copyEnd'),
  }
}

/** Selects a page of the first keys, or of the keys after one; reads only the rows that it returns. */
export function pageSql(table: CopyTable, isFirst: boolean): string {
  const [key, ...rest] = copyTables[table]
  // Numbers such as the version of the schema belong to this file.
  const own =
    table === 'settings'
      ? `and typeof(value) = 'blob' and name not in ('${ownSettings.join("', '")}')`
      : ''
  const page = `select distinct ${key} from ${tableOf(table)}
    where ${isFirst ? 'true' : `${key} > ?`} ${own} order by ${key} limit ?`
  return `select ${[key, ...rest].join(', ')} from ${tableOf(table)}
    where ${key} in (${page}) order by ${key}`
}

export class CopyCalls {
  readonly #tables: InboxTables

  constructor(tables: InboxTables) {
    this.#tables = tables
  }

  readonly copyRestore = (): void => {
    this.#tables.lanes.restore(Number.MAX_SAFE_INTEGER)
  }

  readonly copyOut = ({ table, after, limit }: CopyRequest): readonly CopyRow[] => {
    const sql = pageSql(table, after === undefined)
    const values = after === undefined ? [limit] : [after, limit]
    const rows = prepared<CopyRow>(this.#tables.db, sql).all(...values)
    return rows.map((row) => {
      const read = Object.entries(row).map(([name, value]) => [
        name,
        flags.includes(name) ? value === 1 : value,
      ])
      return Object.fromEntries(read)
    })
  }

  readonly copyIn = (table: CopyTable, rows: readonly CopyRow[]): void => {
    const columns: readonly string[] = copyTables[table]
    const more = table === 'lanes' ? ['tenant'] : table === 'entries' ? ['owner'] : []
    const all = [...columns, ...more]
    const how = table === 'settings' ? 'replace' : 'ignore'
    const marks = all.map(() => '?').join(', ')
    const sql = `insert or ${how} into ${tableOf(table)} (${all.join(', ')}) values (${marks})`
    const insert = prepared(this.#tables.db, sql)
    for (const row of rows) {
      const owner = row.state === 'leased' ? noOwner : null
      const values = { ...row, owner, tenant: tenantOf(String(row.lane ?? '')) }
      insert.run(...all.map((name) => toValue((values as CopyRow)[name] ?? null)))
    }
  }

  readonly copyLast = (table: CopyTable): CopyKey | undefined => {
    const [key] = copyTables[table]
    const sql = `select max(${key}) as last from ${tableOf(table)}`
    return prepared<{ last: CopyKey | null }>(this.#tables.db, sql).get()?.last ?? undefined
  }

  readonly copyTally = (): CopyTally => {
    const number = (value: string, table: CopyTable) => {
      const sql = `select coalesce(${value}, 0) as n from ${tableOf(table)}`
      return prepared<{ n: number }>(this.#tables.db, sql).get()?.n ?? 0
    }
    const tables = (Object.keys(copyTables) as CopyTable[]).filter((table) => table !== 'settings')
    const counts = tables.map((table) => [table, number('count(*)', table)])
    const byState = 'select state, count(*) as n from idv_entries group by state'
    const states = prepared<{ state: string; n: number }>(this.#tables.db, byState).all()
    return {
      ...Object.fromEntries(counts),
      bytes: number('sum(length(metadata) + length(body))', 'contents'),
      attempts: number('sum(attempt)', 'entries'),
      ...Object.fromEntries(states.map(({ state, n }) => [state, n])),
    }
  }

  /** Counts the states; SQLite continues the numbers of entries by itself. */
  readonly copyEnd = (): void => {
    this.#tables.db.exec(`update idv_counts set count =
      (select count(*) from idv_entries e where e.state = idv_counts.state)`)
  }
}

function toValue(value: CopyRow[string]): SqliteValue {
  if (value instanceof Uint8Array) return toBlob(value)
  return typeof value === 'boolean' ? Number(value) : value
}
