// node:sqlite that does not sync its commits and says that it does: the limit to compare with.
import { DatabaseSync, type StatementSync } from 'node:sqlite'

// biome-ignore lint/style/noDefaultExport: a driver is a module's default export
export default class UnsafeDatabase extends DatabaseSync {
  override exec(sql: string): void {
    super.exec(sql.replace('synchronous = full', 'synchronous = normal'))
  }

  override prepare(sql: string): StatementSync {
    const statement = super.prepare(sql)
    if (sql !== 'pragma synchronous') return statement
    return Object.assign(statement, { get: () => ({ synchronous: 2 }) })
  }
}
