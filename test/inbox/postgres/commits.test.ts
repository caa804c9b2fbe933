// An answer of the store is committed, whatever command tag a driver reads as its commit.
import {
  fromPg,
  fromPostgresJs,
  type PostgresDriver,
  type PostgresRow,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { postgres18 } from './engines.ts'
import { startServer } from './server.ts'
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
    /alone_(keep|claim|settle)\b/.test(text)
      ? early(client, [text, values], look)
      : driver.query(text, values, signal)
  const store = postgresStore({ ...driver, query }, { schema, listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  await store.insert(newEntry())
  await settle(store, await claimOne(store), { to: 'done' })
  expect(seen).toEqual(['stored', 'leased', 'done'])
})

/** Stores over a server of its own, whose statements may take 600 ms. */
async function limitedTo600() {
  const server = await startServer(postgres18())
  onTestFinished(() => server.end())
  const [connectionString, limit] = [server.url, { statement_timeout: 600 }]
  const pool = new pg.Pool({ connectionString, ...limit })
  const sql = postgres(connectionString, { connection: limit, onnotice: () => {} })
  onTestFinished(async () => {
    await Promise.all([pool.end(), sql.end()])
  })
  const drivers: PostgresDriver<unknown>[] = [fromPg(pool), fromPostgresJs(sql)]
  const stores = drivers.map((driver) => postgresStore(driver, { schema: 'idv', listen: false }))
  for (const store of stores) {
    await store.open(() => {})
    onTestFinished(() => store.close())
  }
  return { stores, pool }
}

test('a delivery whose wait for the standby is cut short by a time limit is not acknowledged', async () => {
  const { stores, pool } = await limitedTo600()
  for (const store of stores) expect((await store.insert(newEntry())).kind).toBe('stored')
  await pool.query("alter system set synchronous_standby_names = 'away'")
  await pool.query('select pg_reload_conf()')
  await expect
    .poll(async () => (await pool.query('show synchronous_standby_names')).rows)
    .toEqual([{ synchronous_standby_names: 'away' }])
  const refused = { code: 'STORE_FAILED', sqlState: '57014' }
  for (const store of stores) {
    const entry = newEntry()
    await expect(store.insert(entry)).rejects.toMatchObject(refused)
    // The sender's next copy finds the entry, and is rejected until another process has it.
    await expect(store.insert({ ...entry, id: `${entry.id} again` })).rejects.toMatchObject(refused)
  }
})
