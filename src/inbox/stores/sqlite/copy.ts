// Copies a whole inbox into another store, and out of it, on the writer's connection.
import { isBytes } from '../../../foundation/bytes.ts'
import { type CopyStore, type CopyValue, noOwner, sqlCopy } from '../../copy-store.ts'
import type { Gives } from './calls.ts'
import { prepared, type SqliteDatabase } from './driver.ts'
import { tenantOf } from './lanes.ts'
import { toBlob } from './tables.ts'

type SendStatement = (sql: string, values: readonly CopyValue[]) => Promise<Gives<'copy'>>

export function copyBy(query: SendStatement): CopyStore {
  return {
    // The owner's lock keeps other processes out.
    others: async () => 0,
    ...sqlCopy({
      nameOf: (table) => (table === 'marks' ? 'idv_high_water_marks' : `idv_${table}`),
      parameter: () => '?',
      // Numbers such as the version of the schema belong to the file.
      settings: "typeof(value) = 'blob'",
      extra: (table, { lane }): { tenant?: string } =>
        table === 'lanes' ? { tenant: tenantOf(String(lane)) } : {},
      query,
      endings: [
        `update idv_entries set owner = ${noOwner} where state = 'leased'`,
        `update idv_counts set count =
          (select count(*) from idv_entries e where e.state = idv_counts.state)`,
      ],
    }),
  }
}

export function copyStatement(
  db: SqliteDatabase,
  sql: string,
  values: readonly CopyValue[],
): Gives<'copy'> {
  const statement = prepared<Record<string, unknown>>(db, sql)
  const bound = values.map((value) => (isBytes(value) ? toBlob(value) : value))
  if (sql.startsWith('select')) return statement.all(...bound)
  statement.run(...bound)
  return []
}
