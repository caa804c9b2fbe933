// What the store answers is committed by then, whichever word of the server a driver takes for it.
import {
  fromPg,
  type PostgresDriver,
  type PostgresRow,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { claimOne, newEntry, settle } from '../../../src/testing/store-cases.ts'
import { freshSchema, poolOf, servers } from './servers.ts'

/** The messages of pg that are used. */
interface Protocol {
  parse(message: object): void
  bind(message: object): void
  describe(message: object): void
  execute(message: object): void
  flush(): void
  sync(): void
}

const toPlain = (text: string | null) =>
  text?.startsWith('\\x') ? Buffer.from(text.slice(2), 'hex') : text

/**
 * Sends a statement as drivers do, and looks around at its CommandComplete, before the Sync for which
 * the server commits what is still open. postgres.js took the first for the answer up to 3.4.7.
 */
function early(
  client: pg.Client,
  [text, values]: readonly [string, readonly unknown[]],
  look: () => Promise<void>,
): Promise<PostgresRow[]> {
  const names: string[] = []
  const rows: PostgresRow[] = []
  const sent = values.map((one) =>
    one instanceof Uint8Array ? Buffer.from(one) : one === null ? null : String(one),
  )
  return new Promise((resolve, reject) => {
    const statement = {
      submit(protocol: Protocol) {
        protocol.parse({ text })
        protocol.bind({ values: sent })
        protocol.describe({ type: 'P' })
        protocol.execute({})
        protocol.flush()
      },
      handleRowDescription: ({ fields }: { fields: { name: string }[] }) =>
        void names.push(...fields.map(({ name }) => name)),
      handleDataRow: ({ fields }: { fields: (string | null)[] }) =>
        void rows.push(Object.fromEntries(fields.map((one, at) => [names[at], toPlain(one)]))),
      handleCommandComplete: (_: unknown, protocol: Protocol) =>
        void look().then(() => protocol.sync(), reject),
      handleReadyForQuery: () => resolve(rows),
      handleError: reject,
    }
    client.query(statement as never)
  })
}

test('what keeps, claims and settles is committed before the server answers', async () => {
  const schema = freshSchema()
  const pool = poolOf()
  const client = new pg.Client({ connectionString: servers.pg18 })
  await client.connect()
  onTestFinished(() => client.end())
  const seen: string[] = []
  const look = async () => {
    const { rows } = await pool.query(`select state from "${schema}".entries`)
    seen.push(rows.map(({ state }) => state).join())
  }
  const driver = fromPg(pool)
  const query: PostgresDriver['query'] = (text, values, signal) =>
    /alone_(keep|claim|settle)_1/.test(text)
      ? early(client, [text, values], look)
      : driver.query(text, values, signal)
  const store = postgresStore({ ...driver, query }, { schema, listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  await store.insert(newEntry())
  await settle(store, await claimOne(store), { to: 'done' })
  expect(seen).toEqual(['stored', 'leased', 'done'])
})
