// Moves of a whole inbox, on the connection of the writer.
import { type CopyStore, noOwner, sqlCopy } from '../../copy-store.ts'
import type { Gives, Takes } from './calls.ts'
import type { Connection } from './connection.ts'
import { tenantOf } from './lanes.ts'

/** The part of the store that moves it, by a call for each statement. */
export function copyBy(query: (call: Takes<'copy'>) => Promise<Gives<'copy'>>): CopyStore {
  return {
    // The lock of the file's owner keeps other processes out.
    others: async () => 0,
    ...sqlCopy({
      nameOf: (table) => (table === 'marks' ? 'idv_high_water_marks' : `idv_${table}`),
      parameter: () => '?',
      // The numbers of a file, such as the version of its schema, are its own.
      settings: "typeof(value) = 'blob'",
      extra: (table, { lane }): { tenant?: string } =>
        table === 'lanes' ? { tenant: tenantOf(String(lane)) } : {},
      query: (sql, values) => query({ sql, values }),
      endings: [
        `update idv_entries set owner = ${noOwner} where state = 'leased'`,
        `update idv_counts set count =
          (select count(*) from idv_entries e where e.state = idv_counts.state)`,
      ],
    }),
  }
}

/** Carries a statement of a move out. */
export function copyStatement(
  connection: Connection,
  { sql, values }: Takes<'copy'>,
): Gives<'copy'> {
  const statement = connection.statement<Record<string, unknown>>(sql)
  if (sql.startsWith('select')) return statement.all(...values)
  statement.run(...values)
  return []
}
