// An inbox that is moved from SQLite to Postgres and back: nothing is lost, nothing comes twice, and
// a move that is interrupted anywhere goes on.

import { DatabaseSync } from 'node:sqlite'
import { toReply } from 'idv-webhooks'
import {
  type CopyRow,
  type CopyTable,
  createInbox,
  type InboxStore,
  moveInbox,
} from 'idv-webhooks/inbox'
import {
  fromPg,
  fromPostgresJs,
  type PostgresDriver,
  postgresStore,
} from 'idv-webhooks/inbox/postgres'
import { type SqliteDatabase, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { copyTables } from '../../../src/inbox/copy-store.ts'
import { PostgresCopy } from '../../../src/inbox/stores/postgres/copy.ts'
import {
  claim,
  claimOne,
  leaseOf,
  newEntry,
  settle,
} from '../../../tools/conformance/store-cases.ts'
import { event, setUp, until } from '../admin.ts'
import { temporaryFile } from '../temporary.ts'
import { freshSchema, poolOf, schemaOn, servers } from './servers.ts'

const onThisThread = (file: string) => new DatabaseSync(file) as unknown as SqliteDatabase

const start = Date.UTC(2026, 0, 1)
const tables = Object.keys(copyTables) as CopyTable[]

async function opened<Store extends InboxStore>(store: Store): Promise<Store> {
  await store.open(() => {})
  onTestFinished(() => store.close())
  return store
}

/** Entries in every state, with what hangs on them. */
async function fill(store: InboxStore): Promise<void> {
  await store.open(() => {})
  await store.recall('salt', Uint8Array.of(1, 2, 3))
  const failures = [{ handler: 'h', code: 'HANDLER_FAILED', error: 'it said "no"' }] as const
  const failed = { reason: 'HANDLER_FAILED', failures } as const
  const next = async (given = {}) => {
    await store.insert(newEntry(given))
    return claimOne(store)
  }
  const retried = await next({ related: 'client:1', occurredAt: start })
  await store.checkpoint(retried, 'first')
  await settle(store, retried, { to: 'retry', due: start + 9e9, handled: ['second'], ...failed })
  const decision = { name: 'verification.approved', entryId: 'entry-0', seq: 1 } as const
  const mark = { at: start, final: true, decision }
  await settle(store, await next({ lane: 'done' }), { to: 'done', highWaterMark: mark })
  await settle(store, await next({ lane: 'held' }), { to: 'dead', hold: true, ...failed })
  await settle(store, await next({ lane: 'passed' }), { to: 'dead', hold: false, ...failed })
  await settle(store, await next({ lane: 'of.tenant' }), { to: 'skipped', reason: 'NO_HANDLER' })
  await settle(store, await next({ lane: 'forgotten' }), { to: 'done' })
  await store.forget('forgotten', start)
  const first = newEntry({ aliases: [{ key: 'twin', name: 'request.approved' }] })
  await store.insert(first)
  await store.insert({ ...newEntry(), key: first.key ?? '', digest: 'other bytes' })
  for (const lane of ['held', 'waiting', 'waiting']) await store.insert(newEntry({ lane }))
  const { key: _, name: __, ...bare } = newEntry({ body: new Uint8Array(70_000).fill(7) })
  await store.insert(bare)
  await store.claim({ now: start, limit: 1, until: start + 60_000 })
  await store.close()
}

async function everythingIn(store: InboxStore): Promise<Record<string, readonly CopyRow[]>> {
  await store.open(() => {})
  const { copy } = store
  if (!copy) throw new Error('this store cannot be copied')
  const pages = await Promise.all(tables.map((table) => copy.read({ table, limit: 10_000 })))
  await store.close()
  const plain = (row: CopyRow) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
      ]),
    )
  return Object.fromEntries(tables.map((table, at) => [table, (pages[at] ?? []).map(plain)]))
}

/** PGlite is in drivers.test.ts: it takes seconds to start. */
const drivers = {
  pg: () => fromPg(poolOf()),
  'postgres.js': () => {
    const sql = postgres(servers.pg18, { max: 2, onnotice: () => {} })
    onTestFinished(() => sql.end())
    return fromPostgresJs(sql)
  },
}

test.each(Object.entries(drivers))(
  'an inbox that is moved to Postgres and back by %s is the same, row for row',
  async (_, make) => {
    const [file, back] = [temporaryFile(), temporaryFile()]
    const driver: PostgresDriver = make()
    const schema = freshSchema()
    const open = () => postgresStore(driver, { schema, listen: false })
    await fill(sqliteStore(file))
    const before = await everythingIn(sqliteStore(file))
    expect(tables.filter((table) => before[table]?.length === 0)).toEqual([])
    const report = await moveInbox(sqliteStore(file), open())
    expect(report).toMatchObject({ state: 'moved', isResumed: false })
    expect(report.to).toEqual(report.from)
    expect(await everythingIn(open())).toEqual(before)
    expect((await moveInbox(open(), sqliteStore(back))).state).toBe('moved')
    expect(await everythingIn(sqliteStore(back))).toEqual(before)
  },
)

test('a move copies every table and column, but for those that an engine fills itself', async () => {
  const own = ['entries.owner', 'entries.ticket', 'lanes.tenant', 'settings.value']
  const isCopied = (name: string) =>
    !own.includes(name) && !/^(owners|versions|counts)\./.test(name) && !name.includes('sequence')
  const copied = tables.flatMap((table) => copyTables[table].map((name) => `${table}.${name}`))
  const expected = copied.filter(isCopied).sort()
  const { schema, open, query } = schemaOn(undefined, { listen: false })
  await opened(open())
  const columns = await query(
    'select table_name, column_name from information_schema.columns where table_schema = $1',
    [schema],
  )
  const inPostgres = columns.map(({ table_name, column_name }) => `${table_name}.${column_name}`)
  expect(inPostgres.filter(isCopied).sort()).toEqual(expected)
  const file = temporaryFile()
  const store = sqliteStore(file)
  await store.open(() => {})
  await store.close()
  const db = new DatabaseSync(file)
  const inSqlite = db
    .prepare(`select t.name as "table", c.name from sqlite_schema t, pragma_table_info(t.name) c
      where t.type = 'table' and t.name glob 'idv_*'`)
    .all()
    .map((row) => `${row.table}.${row.name}`.replace('idv_', '').replace('high_water_', ''))
  db.close()
  expect(inSqlite.filter(isCopied).sort()).toEqual(expected)
})

test('what was moved is handled on: states, order, dedupe, new entries', async () => {
  const file = temporaryFile()
  const { open } = schemaOn(undefined, { listen: false })
  const source = sqliteStore(file)
  await source.open(() => {})
  const known = [newEntry({ lane: 'one' }), newEntry({ lane: 'one' })]
  for (const entry of known) await source.insert(entry)
  await claimOne(source)
  await source.close()
  await moveInbox(sqliteStore(file), open())
  const store = await opened(open())
  const added = newEntry({ lane: 'one' })
  expect((await store.insert(added)).kind).toBe('stored')
  expect((await store.insert({ ...added, ...known[0], id: 'again' })).kind).toBe('duplicate')
  expect((await store.stats(start)).counts).toMatchObject({ stored: 2, leased: 1 })
  // What was at work in the file counts as a crash.
  const [lapsed] = await store.lapsed(start)
  expect(lapsed?.id).toBe(known[0]?.id)
  expect(await claim(store)).toEqual([])
  if (!lapsed) throw new Error('there was a lease')
  const lease = { id: lapsed.id, fence: lapsed.fence, owner: lapsed.owner ?? 0 }
  const crashed = { reason: 'CRASHED', failures: [], due: start, to: 'retry' } as const
  await store.settle({ lease, at: start, handled: [], ...crashed })
  for (const { id } of [...known, added]) {
    const claimed = await claimOne(store)
    expect(claimed.id).toBe(id)
    await settle(store, claimed, { to: 'done' })
  }
})

/** A store that dies before or after a call, as if its process had been killed there. */
function dyingAt(store: InboxStore, dies: (when: 'before' | 'after') => boolean): InboxStore {
  const guard = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get: (from, name) => {
        const value = Reflect.get(from, name, from)
        if (name === 'copy') return guard(value as object)
        if (typeof value !== 'function') return value
        return async (...given: unknown[]) => {
          const isFree = name === 'open' || name === 'close'
          if (!isFree && dies('before')) throw new Error('killed')
          const answer = await Reflect.apply(value, from, given)
          if (!isFree && dies('after')) throw new Error('killed')
          return answer
        }
      },
    })
  return guard(store)
}

test('a move that is interrupted before or after any step goes on, and nothing comes twice', async () => {
  const files = { from: temporaryFile() }
  await fill(sqliteStore(files.from))
  const before = await everythingIn(sqliteStore(files.from))
  const { open } = schemaOn(undefined, { listen: false })
  let deaths = 0
  let last = ''
  for (let step = 1; last !== 'moved' && last !== 'before'; step++) {
    let calls = 0
    const dies = (when: string) => (when === 'before' ? ++calls * 2 - 1 : calls * 2) === step
    const moving = moveInbox(
      dyingAt(sqliteStore(files.from, { check: 'quick', driver: onThisThread }), dies),
      dyingAt(open(), dies),
    )
    last = await moving.then(
      ({ state }) => state,
      (error: Error) => {
        expect(error.message).toBe('killed')
        deaths++
        return 'killed'
      },
    )
  }
  expect(deaths).toBeGreaterThan(40)
  expect((await moveInbox(sqliteStore(files.from), open())).state).toBe('before')
  expect(await everythingIn(open())).toEqual(before)
})

test('a dry run changes nothing', async () => {
  const file = temporaryFile()
  const { open } = schemaOn(undefined, { listen: false })
  await fill(sqliteStore(file))
  const report = await moveInbox(sqliteStore(file), open(), { dryRun: true })
  expect(report).toMatchObject({ state: 'planned', from: { entries: 12 } })
  expect((await everythingIn(open())).entries).toEqual([])
  const real = await moveInbox(sqliteStore(file), open())
  expect(real).toMatchObject({ state: 'moved', isResumed: false })
})

test('an inbox that was moved, or is being moved, is not opened', async () => {
  const file = temporaryFile()
  const { open } = schemaOn(undefined, { listen: false })
  const inbox = createInbox({ store: sqliteStore(file) })
  await inbox.open()
  await inbox.close()
  const signal = AbortSignal.abort()
  const stopped = moveInbox(sqliteStore(file), open(), { signal })
  await expect(stopped).rejects.toThrow()
  for (const store of [sqliteStore(file), open()]) {
    await expect(createInbox({ store }).open()).rejects.toEqual(unsuitable(/is being moved/))
  }
  expect(await moveInbox(sqliteStore(file), open())).toMatchObject({
    state: 'moved',
    isResumed: true,
  })
  await expect(inbox.open()).rejects.toEqual(unsuitable(/was moved/))
  const target = createInbox({ store: open() })
  await target.open()
  await target.close()
})

const unsuitable = (message: RegExp) =>
  expect.objectContaining({ code: 'STORE_UNSUITABLE', message: expect.stringMatching(message) })

/** One row of each table but the settings, as in an inbox that was in use. */
async function remnants(): Promise<readonly [CopyTable, CopyRow][]> {
  const file = temporaryFile()
  await fill(sqliteStore(file))
  const { copy } = await opened(sqliteStore(file))
  const found: [CopyTable, CopyRow][] = []
  for (const table of tables.filter((name) => name !== 'settings')) {
    const [row] = (await copy?.read({ table, limit: 1 })) ?? []
    if (row) found.push([table, row])
  }
  return found
}

async function add(store: InboxStore, table: CopyTable, row: CopyRow): Promise<void> {
  await store.open(() => {})
  await store.copy?.add(table, [row])
  await store.close()
}

async function expectOpens(store: InboxStore): Promise<void> {
  const inbox = createInbox({ store })
  await inbox.open()
  await inbox.close()
}

test('a target that holds a row of any kind is refused, and both inboxes still open', async () => {
  const file = temporaryFile()
  const { open, query } = schemaOn(undefined, { listen: false })
  await expectOpens(sqliteStore(file))
  await fill(sqliteStore(file))
  const rows = await remnants()
  expect(rows).toHaveLength(tables.length - 1)
  const refused = (table: CopyTable) =>
    unsuitable(new RegExp(`holds rows \\(\\d ${table}\\): move into a new file, or a new schema`))
  for (const [table, row] of rows) {
    const used = temporaryFile()
    const target = () => sqliteStore(used, { check: 'quick', driver: onThisThread })
    await add(target(), table, row)
    await expect(moveInbox(sqliteStore(file), target())).rejects.toEqual(refused(table))
    await expectOpens(target())
  }
  for (const [table, row] of rows.filter(([name]) => name === 'marks')) {
    await add(open(), table, row)
    const planned = moveInbox(sqliteStore(file), open(), { dryRun: true })
    await expect(planned).rejects.toEqual(refused(table))
    await query('delete from idv.marks')
  }
  await expectOpens(sqliteStore(file))
  expect((await moveInbox(sqliteStore(file), open())).state).toBe('moved')
})

/** A move that is interrupted after its first page of payloads. */
async function interrupted(from: () => InboxStore, to: () => InboxStore): Promise<void> {
  const stop = new AbortController()
  const onProgress = ({ table }: { readonly table: CopyTable }) => {
    if (table === 'contents') stop.abort()
  }
  await expect(moveInbox(from(), to(), { signal: stop.signal, onProgress })).rejects.toThrow()
}

test('a move whose copy differs is given up: the source opens, and moves into a new target', async () => {
  const [file, used, other] = [temporaryFile(), temporaryFile(), temporaryFile()]
  const from = () => sqliteStore(file)
  await expectOpens(from())
  await fill(from())
  await interrupted(from, () => sqliteStore(used))
  await add(sqliteStore(used), 'relations', { lane: 'zz', related: 'zz', at: start })
  await expect(moveInbox(from(), sqliteStore(used))).rejects.toMatchObject({
    code: 'STORE_FAILED',
    message: expect.stringMatching(/1 relations became 2\. .* the source opens again/),
  })
  await expectOpens(from())
  const incomplete = createInbox({ store: sqliteStore(used) })
  await expect(incomplete.open()).rejects.toEqual(unsuitable(/is being moved into this one/))
  await expect(moveInbox(from(), sqliteStore(used))).rejects.toEqual(
    unsuitable(/incomplete copy of another move: move into a new file/),
  )
  const before = await everythingIn(from())
  expect((await moveInbox(from(), sqliteStore(other))).state).toBe('moved')
  expect(await everythingIn(sqliteStore(other))).toEqual(before)
})

test('the incomplete copy of an interrupted move is not moved on', async () => {
  const [file, third] = [temporaryFile(), temporaryFile()]
  const from = () => sqliteStore(file)
  const { open } = schemaOn(undefined, { listen: false })
  await fill(from())
  await interrupted(from, open)
  for (const target of [() => sqliteStore(third), from]) {
    for (const dryRun of [true, false]) {
      await expect(moveInbox(open(), target(), { dryRun })).rejects.toEqual(
        unsuitable(/is the target of a move that is not complete/),
      )
    }
  }
  expect(await moveInbox(from(), open())).toMatchObject({ state: 'moved', isResumed: true })
})

/** A store whose process falls silent, as if it was frozen, and comes back by its next call. */
async function silentOn({ schema, query }: ReturnType<typeof schemaOn>) {
  const driver = fromPg(poolOf())
  let isSilent = false
  const store = postgresStore(
    {
      ...driver,
      query: async (...asked) => {
        if (isSilent && asked[0].includes('beat_1')) throw new Error('frozen')
        return driver.query(...asked)
      },
    },
    { schema, listen: false },
  )
  const fallSilent = async () => {
    isSilent = true
    await query('update idv.owners set seen = seen - 60000 where owner <> 0')
  }
  return { store, fallSilent }
}

test('a store that was silent while its inbox was moved changes nothing in it', async () => {
  const source = schemaOn(undefined, { listen: false })
  const { query, schema, open } = source
  const { store, fallSilent } = await silentOn(source)
  await opened(store)
  for (const lane of ['begun', 'other', 'waiting']) await store.insert(newEntry({ lane }))
  const [begun, other] = [await claimOne(store), await claimOne(store)]
  await query('create table idv.effects (n int)')
  const tx = await store.transaction?.(leaseOf(begun), 'h')
  if (!tx) throw new Error('this store has transactions')
  await tx.handle.query(`insert into "${schema}".effects values (1)`)
  await fallSilent()
  const file = temporaryFile()
  const stop = new AbortController()
  const interrupted = { signal: stop.signal, onProgress: () => stop.abort() }
  await expect(moveInbox(open(), sqliteStore(file), interrupted)).rejects.toThrow()
  const calls: Record<string, () => Promise<unknown>> = {
    insert: () => store.insert(newEntry()),
    claim: () => claim(store),
    settle: () => settle(store, other, { to: 'done' }),
    checkpoint: () => store.checkpoint(leaseOf(other), 'h'),
    renew: () => store.renew([leaseOf(begun)], start),
    reopen: () => store.reopen({ ids: [begun.id], from: ['leased'], now: start }),
    dismiss: () => store.dismiss(begun.id, start),
    forget: () => store.forget('waiting', start),
    align: () => store.align({ now: start, latest: start, free: true }),
    purge: () => store.purge({ doneBefore: 1, deadBefore: 1, keysBefore: start + 9e9, limit: 9 }),
  }
  for (const [name, call] of Object.entries(calls)) {
    await expect(call(), name).rejects.toEqual(unsuitable(/is being moved: run/))
  }
  expect((await moveInbox(open(), sqliteStore(file))).state).toBe('moved')
  for (const [name, call] of Object.entries({ ...calls, commit: () => tx.commit() })) {
    await expect(call(), name).rejects.toEqual(unsuitable(/was moved to another store/))
  }
  expect(await query('select * from idv.effects')).toEqual([])
  expect(await everythingIn(sqliteStore(file))).toEqual(await everythingIn(open()))
})

test('a receiver and a worker that were silent while their inbox was moved say so', async () => {
  const source = schemaOn(undefined, { listen: false })
  const { store, fallSilent } = await silentOn(source)
  const { deliver, receiver, seen, settled, worker } = setUp({ store })
  receiver.on('*', () => {})
  await worker.start()
  expect(await deliver(event())).toMatchObject({ kind: 'accepted' })
  await until(() => settled().includes('done'))
  await fallSilent()
  await moveInbox(source.open(), sqliteStore(temporaryFile()))
  for (const sent of [event(), event('idv-webhooks.doctor')]) {
    const outcome = await deliver(sent)
    const error = unsuitable(/was moved/)
    expect(outcome).toMatchObject({ kind: 'failed', code: 'STORE_UNAVAILABLE', error })
    expect(toReply(outcome).status).toBe(503)
  }
  const told = () =>
    seen.flatMap((one) => (one.type === 'store' && one.asked === 'claim' ? [one.error] : []))
  await until(() => told().length > 0)
  expect(told()[0]).toContain('STORE_UNSUITABLE: this inbox was moved')
  expect(await source.query('select state from idv.entries')).toEqual([{ state: 'done' }])
})

test('an operator that had the file open changes nothing in it once it is moved', async () => {
  const [file, to] = [temporaryFile(), temporaryFile()]
  await fill(sqliteStore(file))
  const operator = await opened(sqliteStore(file, { mode: 'operator' }))
  const [dead] = await operator.find({ states: ['dead'], limit: 1 })
  const id = dead?.id ?? ''
  const calls: Record<string, () => Promise<unknown>> = {
    reopen: () => operator.reopen({ ids: [id], from: ['dead'], now: start }),
    dismiss: () => operator.dismiss(id, start),
    forget: () => operator.forget('waiting', start),
    purge: () => operator.purge({ doneBefore: 1, deadBefore: 1, keysBefore: 1, limit: 9 }),
  }
  await moveInbox(sqliteStore(file), sqliteStore(to))
  for (const [name, call] of Object.entries(calls)) {
    await expect(call(), name).rejects.toEqual(unsuitable(/was moved to another store/))
  }
  expect(await everythingIn(sqliteStore(to))).toEqual(await everythingIn(sqliteStore(file)))
})

test('a move waits for a checkpoint that is about to commit, and copies it', async () => {
  const { open, query, schema } = schemaOn(undefined, { listen: false })
  const store = await opened(open())
  await store.insert(newEntry())
  const { id, fence, owner } = await claimOne(store)
  await store.close()
  const client = await poolOf().connect()
  onTestFinished(() => client.release(true))
  await client.query('begin')
  const values = [owner, id, fence, 'h']
  await client.query(`select "${schema}".checkpoint_1($1, $2, $3, $4)`, values)
  const file = temporaryFile()
  const moving = moveInbox(open(), sqliteStore(file))
  const waits = `select 1 from pg_locks k where not k.granted and k.relation = 'idv.settings'::regclass`
  await expect.poll(() => query(waits), { timeout: 10_000 }).toHaveLength(1)
  await client.query('commit')
  expect((await moving).state).toBe('moved')
  expect((await everythingIn(sqliteStore(file))).handled).toMatchObject([{ handler: 'h' }])
})

test('a move needs an empty target, and both applications stopped', async () => {
  const file = temporaryFile()
  const { open } = schemaOn(undefined, { listen: false })
  const running = await opened(open())
  await expect(moveInbox(sqliteStore(file), open())).rejects.toMatchObject({ code: 'STORE_OWNED' })
  await expect(moveInbox(open(), sqliteStore(file))).rejects.toMatchObject({ code: 'STORE_OWNED' })
  await running.insert(newEntry())
  await running.close()
  await expect(moveInbox(sqliteStore(file), open())).rejects.toMatchObject({
    code: 'STORE_UNSUITABLE',
    message: expect.stringContaining('must be an empty inbox'),
  })
})

test('large bodies are copied in several statements, the rows of one key in the same', async () => {
  const sent: string[] = []
  // Trust is granted here: nothing else of it is used.
  const statements = { run: async (_: string, [json]: [string]) => sent.push(json) } as never
  const copy = new PostgresCopy(statements, 1)
  const body = new Uint8Array(5 * 1024 ** 2)
  const rows = [1, 2, 2, 3, 4].map((seq) => ({ seq, metadata: new Uint8Array(), body }))
  await copy.add('contents', rows)
  const keys = sent.map((json) => [...json.matchAll(/"seq":(\d)/g)].map(([, seq]) => Number(seq)))
  expect(keys).toEqual([[1], [2, 2], [3], [4]])
})
