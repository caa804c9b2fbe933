// The checks when a store is created and opened: options, the server, the schema.
import type { InboxStore } from 'idv-webhooks/inbox'
import {
  fromPg,
  type PostgresDriver,
  type PostgresRow,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { migrate, migrations, schemaSql } from '../../../src/inbox/stores/postgres/migrations.ts'
import { Statements } from '../../../src/inbox/stores/postgres/statements.ts'
import { claim, claimOne, newEntry, settle } from '../../../tools/conformance/store-cases.ts'
import { freshSchema, poolOf, schemaOn, servers } from './servers.ts'

const unsuitable = (message: RegExp) =>
  expect.objectContaining({ code: 'STORE_UNSUITABLE', message: expect.stringMatching(message) })

/** A pool whose sessions start with these settings. */
function poolWith(options: string, user = 'postgres'): pg.Pool {
  const url = new URL(servers.pg18)
  url.username = user
  const pool = new pg.Pool({ connectionString: url.href, options, max: 4 })
  onTestFinished(() => pool.end())
  return pool
}

/** The driver, with other answers to the question for the settings of the server. */
function claiming(settings: PostgresRow): PostgresDriver {
  const driver = fromPg(poolOf())
  return {
    ...driver,
    query: async (...asked) =>
      (await driver.query(...asked)).map((row) => ('fsync' in row ? { ...row, ...settings } : row)),
  }
}

async function opened(store: InboxStore): Promise<InboxStore> {
  await store.open(() => {})
  onTestFinished(() => store.close())
  return store
}

test.each([
  [{ schemas: 'x' }, /postgresStore has no option 'schemas'\. Did you mean 'schema'\?/],
  [{ schema: 'Public; drop' }, /schema must be a name of lower-case letters/],
  [{ survives: 'everything' }, /survives must be 'power-cut' or 'failover'/],
  [{ mode: 'operate' }, /mode must be 'owner' or 'operator'/],
  [{ timeout: '5s' }, /timeout must be a number of milliseconds, got string '5s'/],
])('rejects the options %j', (options, message) => {
  expect(() => postgresStore(fromPg(poolOf()), options as never)).toThrow(message)
})

test('rejects a pool in place of a driver, and says what to write', () => {
  const make = () => postgresStore(poolOf() as never)
  expect(make).toThrow(/expects a driver, e\.g\. postgresStore\(fromPg\(pool\)\)/)
})

test.each([
  [{ port: '1' }, /connection to Postgres failed \(ECONNREFUSED\): start it, or check host/],
  [{ pathname: '/nowhere' }, /Postgres refused \(3D000\): create the database, or check its name/],
])('says what to do where %j cannot be reached', async (change, message) => {
  const pool = new pg.Pool({ connectionString: Object.assign(new URL(servers.pg18), change).href })
  onTestFinished(() => pool.end())
  const store = postgresStore(fromPg(pool))
  await expect(store.open(() => {})).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(message),
  })
})

test.each<[PostgresRow, RegExp]>([
  [{ version: 120_000 }, /must be PostgreSQL 13 or later/],
  [{ encoding: 'SQL_ASCII' }, /must have the encoding UTF8/],
  [{ recovery: true }, /is a standby .* connect to the primary/],
  [{ fsync: 'off' }, /fsync is off/],
  [{ pages: 'off' }, /full_page_writes is off/],
])('refuses a server that says %j', async (settings, message) => {
  const store = postgresStore(claiming(settings), { schema: freshSchema() })
  await expect(store.open(() => {})).rejects.toEqual(unsuitable(message))
})

test.each([
  ['-c default_transaction_isolation=serializable', /must be read committed: `alter role/],
  ['-c default_transaction_read_only=on', /default_transaction_read_only is on/],
])('refuses sessions with %s', async (options, message) => {
  const store = postgresStore(fromPg(poolWith(options)), { schema: freshSchema() })
  await expect(store.open(() => {})).rejects.toEqual(unsuitable(message))
})

test("refuses survives: 'failover' where no synchronous standby is connected", async () => {
  const options = { schema: freshSchema(), survives: 'failover' } as const
  const none = postgresStore(fromPg(poolOf()), options)
  expect(none.capabilities.survives).toBe('failover')
  await expect(none.open(() => {})).rejects.toEqual(unsuitable(/set synchronous_standby_names/))
  const gone = postgresStore(claiming({ standbys: '*' }), options)
  await expect(gone.open(() => {})).rejects.toEqual(unsuitable(/none is connected/))
})

test('warns when the server writes payloads into its log', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const schema = freshSchema()
  const quiet = claiming({ log_statement: 'all', log_parameters: '0' })
  await opened(postgresStore(quiet, { schema, listen: false }))
  const unsampled = claiming({ log_sample: '250ms', log_sample_rate: '0' })
  await opened(postgresStore(unsampled, { schema, listen: false }))
  expect(warned).not.toHaveBeenCalled()
  const logging = [
    { log_duration: '250ms' },
    { log_sample: '250ms', log_sample_rate: '0.5' },
    { log_transactions: '0.01' },
    { log_error_parameters: '-1' },
  ]
  for (const [at, settings] of logging.entries()) {
    await opened(postgresStore(claiming(settings), { schema, listen: false }))
    expect(warned, JSON.stringify(settings)).toHaveBeenCalledTimes(at + 1)
  }
  expect(warned).toHaveBeenCalledWith(
    expect.stringContaining('log_parameter_max_length = 0'),
    expect.objectContaining({ code: 'IDV_POSTGRES_LOG' }),
  )
})

test.runIf(servers.bouncer)('warns when a pooler loses notifications', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  onTestFinished(() => warned.mockRestore())
  const pool = poolOf(servers.bouncer)
  await opened(postgresStore(fromPg(pool), { schema: freshSchema() }))
  await expect
    .poll(() => warned.mock.calls.map(([, options]) => (options as { code: string }).code), {
      timeout: 5_000,
    })
    .toContain('IDV_POSTGRES_LISTEN')
})

test('the first start of many processes at once makes the schema once', async () => {
  const { open, query } = schemaOn(servers.pg18, { listen: false })
  await Promise.all(Array.from({ length: 6 }, () => opened(open())))
  expect(await query('select version from idv.versions')).toEqual([{ version: 1 }])
})

test('migrate: false asks for the schema, and works on the SQL of postgresSchema', async () => {
  const { schema, open } = schemaOn(servers.pg18, { listen: false, migrate: false })
  const missing = open()
  await expect(missing.open(() => {})).rejects.toEqual(unsuitable(/postgresSchema/))
  await poolOf().query(schemaSql(schema))
  const store = await opened(open())
  expect((await store.insert(newEntry())).kind).toBe('stored')
})

test('a user who may not create a schema is told who must', async () => {
  const { schema, open } = schemaOn(servers.pg18, { listen: false })
  const user = `user_${schema}`
  await poolOf().query(`create role ${user} login`)
  const store = postgresStore(fromPg(poolWith('', user)), { schema, listen: false })
  await expect(store.open(() => {})).rejects.toEqual(unsuitable(/as the owner of the database/))
  await opened(open())
  await poolOf().query(`grant usage on schema ${schema} to ${user};
    grant select, insert, update, delete on all tables in schema ${schema} to ${user}`)
  const granted = await opened(
    postgresStore(fromPg(poolWith('', user)), { schema, listen: false, migrate: false }),
  )
  expect((await granted.insert(newEntry())).kind).toBe('stored')
  expect((await claimOne(granted)).attempt).toBe(1)
})

test('a newer schema is taken while it says that this program may, and refused after', async () => {
  const { open, query } = schemaOn(servers.pg18, { listen: false })
  await opened(open())
  await query('insert into idv.versions values (2, 1)')
  await opened(open())
  await query('insert into idv.versions values (3, 3)')
  const store = open()
  await expect(store.open(() => {})).rejects.toEqual(unsuitable(/upgrade the package/))
})

test('old and new processes work side by side through a migration under load', async () => {
  const { schema, open, query } = schemaOn(servers.pg18, { listen: false })
  const [old, other] = [await opened(open()), await opened(open())]
  let isOver = false
  let isFed = false
  let kept = 0
  const feeding = Array.from({ length: 8 }, async (_, lane) => {
    while (!isOver) {
      await old.insert(newEntry({ lane: `lane ${lane}`, storedAt: Date.now() }))
      kept++
    }
  })
  let done = 0
  const working = (async () => {
    // A claim may pass over what a stalled commit has kept, for a second: one lost never ends it.
    for (let isEmpty = false; !(isFed && isEmpty && done >= kept); ) {
      const now = Date.now() + 1_000
      const { entries } = await other.claim({ now, limit: 50, until: now + 60_000 })
      const settled = entries.map((entry) => settle(other, entry, { to: 'done' }))
      done += (await Promise.all(settled)).filter(Boolean).length
      isEmpty = entries.length === 0
    }
  })()
  const [first] = migrations
  if (!first) throw new Error('there is a first step')
  const claim = first.statements.find((sql) => sql.includes('function idv.claim(')) ?? ''
  const second = {
    version: 2,
    compatible: 1,
    statements: [
      'alter table idv.entries add column note text',
      claim.replace('function idv.claim(', 'function idv.claim_2('),
    ],
  }
  const statements = new Statements(fromPg(poolOf()), { limit: 10_000, schema })
  statements.isOpen = true
  await expect.poll(() => kept, { timeout: 20_000 }).toBeGreaterThan(50)
  await migrate(statements, schema, [first, second])
  const before = kept
  await expect.poll(() => kept, { timeout: 20_000 }).toBeGreaterThan(before + 50)
  isOver = true
  await Promise.all(feeding)
  isFed = true
  await working
  expect(done).toBe(kept)
  expect(await query('select max(version) as version from idv.versions')).toEqual([{ version: 2 }])
  await opened(open())
})

test('what is asked of a store that is not open is refused', async () => {
  const { open } = schemaOn()
  await expect(open().insert(newEntry())).rejects.toMatchObject({ code: 'STORE_FAILED' })
})

test("mode: 'operator' looks and redrives beside the application, and neither keeps, claims nor moves", async () => {
  const { open, query } = schemaOn(servers.pg18, { listen: false })
  const beside = open({ mode: 'operator' })
  await expect(beside.open(() => {})).rejects.toEqual(unsuitable(/postgresSchema/))
  const application = await opened(open())
  await claim(application)
  await query('update idv.owners set seen = 1 where owner = 0')
  await opened(beside)
  // A process that only observes says nothing about the workers.
  expect(await query('select seen::int as seen from idv.owners where owner = 0')).toEqual([
    { seen: 1 },
  ])
  const salt = Uint8Array.of(1)
  await expect(beside.recall('salt', salt)).rejects.toEqual(unsuitable(/start the application/))
  expect(await application.recall('salt', salt)).toEqual(salt)
  await beside.remember('salt', Uint8Array.of(2))
  expect(Uint8Array.from(await beside.recall('salt', Uint8Array.of(3)))).toEqual(salt)

  const entry = newEntry()
  await application.insert(entry)
  const failed = { reason: 'HANDLER_FAILED', failures: [], hold: false } as const
  await settle(application, await claimOne(application), { to: 'dead', ...failed })
  expect((await beside.find({ limit: 10 })).map(({ id }) => id)).toEqual([entry.id])
  const refused = unsuitable(/keeps and claims nothing/)
  await expect(beside.insert(newEntry())).rejects.toEqual(refused)
  await expect(claimOne(beside)).rejects.toEqual(refused)
  expect(beside.copy).toBeUndefined()
  const reopening = { ids: [entry.id], from: ['dead'], now: entry.storedAt } as const
  expect(await beside.reopen(reopening)).toBe(1)
  expect((await claimOne(application)).id).toBe(entry.id)
})

test('a role that lacks a right is told at opening which, and the grant for it', async () => {
  const { schema, open } = schemaOn(servers.pg18, { listen: false })
  await opened(open())
  const user = `user_${schema}`
  await poolOf().query(`create role ${user} login; grant usage on schema ${schema} to ${user};
    grant select on all tables in schema ${schema} to ${user}`)
  const pool = poolWith('', user)
  const beside = postgresStore(fromPg(pool), { schema, mode: 'operator' })
  await opened(beside)
  expect((await beside.stats(0)).counts.stored).toBe(0)
  const limited = () => postgresStore(fromPg(pool), { schema, listen: false, migrate: false })
  const refused = await limited()
    .open(() => {})
    .catch((error: Error) => error)
  const [, sql = ''] = /`(grant select, insert.*)`/.exec((refused as Error).message) ?? []
  expect((refused as Error).message).toContain('no right to ')
  await poolOf().query(sql)
  await poolOf().query(`revoke execute on procedure ${schema}.alone_keep from public, ${user}`)
  await expect(limited().open(() => {})).rejects.toEqual(unsuitable(/no right to alone_keep/))
  await poolOf().query(sql)
  await opened(limited())
})

test('a connection that goes silent while the schema is made is destroyed, and the opening fails', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const silent = () => new Promise<never>(() => {})
  const destroy = vi.fn()
  const tx = { handle: {}, query: silent, commit: silent, rollback: silent, destroy }
  const driver: PostgresDriver = {
    name: 'silent',
    query: async () => [{ known: false }],
    begin: async () => tx,
  }
  const statements = new Statements(driver, { limit: 5_000, schema: 'idv' })
  statements.isOpen = true
  const failed = expect(migrate(statements, 'idv')).rejects.toMatchObject({ code: 'STORE_TIMEOUT' })
  await vi.advanceTimersByTimeAsync(130_000)
  await failed
  expect(destroy).toHaveBeenCalledOnce()
})
