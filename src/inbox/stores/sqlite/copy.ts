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
import type { Gives, Method, Takes } from './calls.ts'
import { type Connection, toBlob } from './connection.ts'
import type { SqliteValue } from './driver.ts'
import { type Lanes, tenantOf } from './lanes.ts'

const tableOf = (table: CopyTable) => (table === 'marks' ? 'idv_high_water_marks' : `idv_${table}`)

/** Columns that are true or false elsewhere. */
const flags: readonly string[] = ['final', 'erased']

type SendCall = <M extends Method>(method: M, ...args: Takes<M>) => Promise<Gives<M>>

/** The port's side of it; a database in memory has no path. */
export function copyBy(call: SendCall, path: string | undefined): CopyStore {
  return {
    identity: async () => {
      if (path === undefined) return randomUUID()
      const { dev, ino } = await stat(path, { bigint: true })
      return `file ${ino} of device ${dev}`
    },
    // The lock of its owner keeps them out.
    others: async () => 0,
    // Who opened the file may write into all of it.
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

/** A page of the first keys, or of those after one: each reads as many rows as it gives. */
export function pageSql(table: CopyTable, isFirst: boolean): string {
  const [key, ...rest] = copyTables[table]
  // The numbers of this file, such as that of its schema, are its own.
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
  readonly #connection: Connection
  readonly #lanes: Lanes

  constructor({ connection, lanes }: { readonly connection: Connection; readonly lanes: Lanes }) {
    this.#connection = connection
    this.#lanes = lanes
  }

  readonly copyRestore = (): void => {
    this.#lanes.restore(Number.MAX_SAFE_INTEGER)
  }

  readonly copyOut = ({ table, after, limit }: CopyRequest): readonly CopyRow[] => {
    const sql = pageSql(table, after === undefined)
    const values = after === undefined ? [limit] : [after, limit]
    const rows = this.#connection.prepare<CopyRow>(sql).all(...values)
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
    const insert = this.#connection.prepare(sql)
    for (const row of rows) {
      const owner = row.state === 'leased' ? noOwner : null
      const values = { ...row, owner, tenant: tenantOf(String(row.lane ?? '')) }
      insert.run(...all.map((name) => toValue((values as CopyRow)[name] ?? null)))
    }
  }

  readonly copyLast = (table: CopyTable): CopyKey | undefined => {
    const [key] = copyTables[table]
    const sql = `select max(${key}) as last from ${tableOf(table)}`
    return this.#connection.prepare<{ last: CopyKey | null }>(sql).get()?.last ?? undefined
  }

  readonly copyTally = (): CopyTally => {
    const number = (value: string, table: CopyTable) => {
      const sql = `select coalesce(${value}, 0) as n from ${tableOf(table)}`
      return this.#connection.prepare<{ n: number }>(sql).get()?.n ?? 0
    }
    const tables = (Object.keys(copyTables) as CopyTable[]).filter((table) => table !== 'settings')
    const counts = tables.map((table) => [table, number('count(*)', table)])
    const states = this.#connection
      .prepare<{ state: string; n: number }>(
        'select state, count(*) as n from idv_entries group by state',
      )
      .all()
    return {
      ...Object.fromEntries(counts),
      bytes: number('sum(length(metadata) + length(body))', 'contents'),
      attempts: number('sum(attempt)', 'entries'),
      ...Object.fromEntries(states.map(({ state, n }) => [state, n])),
    }
  }

  /** Numbers of new entries go on by themselves; states are counted here. */
  readonly copyEnd = (): void => {
    this.#connection
      .prepare(`update idv_counts set count =
        (select count(*) from idv_entries e where e.state = idv_counts.state)`)
      .run()
  }
}

function toValue(value: CopyRow[string]): SqliteValue {
  if (value instanceof Uint8Array) return toBlob(value)
  return typeof value === 'boolean' ? Number(value) : value
}
