// node:sqlite that says it syncs every commit and does not: what the promise costs, not for use.
import { DatabaseSync } from 'node:sqlite'

// biome-ignore lint/style/noDefaultExport: a driver is the default export of its module
export default class UnsafeDatabase extends DatabaseSync {
  override exec(sql: string): void {
    super.exec(/^pragma synchronous/.test(sql) ? 'pragma synchronous = normal' : sql)
  }

  override prepare(sql: string) {
    return super.prepare(sql === 'pragma synchronous' ? 'select 2 as synchronous' : sql)
  }
}
