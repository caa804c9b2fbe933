import { join } from 'node:path'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { apps, secret, serve } from './apps.ts'
import { folder, run, runJson } from './run.ts'

const env = { WEBHOOK_SECRET: secret }

const doctor = async (app: keyof typeof apps) => {
  const url = await apps[app]()
  const { records, code } = await runJson(['doctor', '--to', url], { env })
  const of = (type: string) => records.filter((record) => record.type === type)
  const [summary] = of('summary')
  const causes = of('cause').map(({ cause }) => cause)
  const fails = of('probe').filter(({ holds }) => !holds)
  return { code, causes, fails, advice: of('cause'), framework: summary?.framework }
}

describe('a sound receiver', () => {
  test.each([
    ['sound', 'unknown'],
    ['sound, express', 'express'],
    ['sound, fastify', 'fastify'],
  ] as const)('%s keeps every guarantee', async (app, framework) => {
    expect(await doctor(app)).toEqual({ code: 0, causes: [], fails: [], advice: [], framework })
  })
})

describe('a mistake is named with its fix', () => {
  test.each([
    ['express.json() first', 'body-consumed', 'express', /above app\.use\(express\.json\(\)\)/],
    ['express.json(), then JSON.stringify', 'reserialized-by-parser', 'express', /toExpress/],
    ['the default parser of Fastify', 'reserialized-by-parser', 'fastify', /toFastify/],
    ['the Pages Router with its body parser', 'body-consumed', 'next', /bodyParser: false/],
    ['a proxy that re-serialises', 'reserialized-on-the-way', 'unknown', /proxy/],
    ['a logger that adds a line break', 'newline-added', 'unknown', /logger/],
    ['a gateway that trims', 'newline-removed', 'unknown', /trim/],
    ['express.text() first', 'decoded-as-text', 'express', /express\.text\(\)/],
    ['another secret', 'secret-or-scheme', 'unknown', /WEBHOOK_SECRET/],
    ['a proxy that drops the signature', 'signature-lost', 'unknown', /proxies and gateways/],
    ['an app that looks in another header', 'signature-lost', 'unknown', /--scheme/],
    ['no verification', 'not-verified', 'unknown', /mount a receiver/],
    ['a login page', 'redirected', 'unknown', /address it leads to/],
    ['a signature that is only looked for', 'signature-not-compared', 'unknown', /ok: false/],
    ['an app that is in a bad mood', 'unexplained', 'unknown', /log of the app/],
  ] as const)('%s', async (app, cause, framework, fix) => {
    const found = await doctor(app)
    expect(found.causes.filter((one) => !/^(parser-limit|unbounded)$/.test(String(one)))).toEqual([
      cause,
    ])
    expect(found.framework).toBe(framework)
    expect(found.advice[0]?.fix).toMatch(fix)
    expect(found.code).toBe(1)
  })

  test('express.raw(), verify() and JSON.parse: each lapse has its cause and fix', async () => {
    const found = await doctor('express.raw(), verify() and JSON.parse')
    expect(found.fails.map(({ name }) => name)).toEqual([
      'a body of 256 KiB',
      'a byte order mark',
      'two signature headers',
      'a body that is no UTF-8',
      'a body that is no JSON',
    ])
    expect(found.causes).toEqual([
      'headers-joined',
      'unreadable-fails',
      'mark-not-read',
      'unreadable-taken',
      'parser-limit',
    ])
    const fixes = found.advice.map(({ fix }) => fix).join('\n')
    for (const part of ['headersDistinct', 'answer 400', 'fatal: true', 'express.raw(']) {
      expect(fixes).toContain(part)
    }
  })
})

describe('what is left in an inbox', () => {
  async function appWithInbox() {
    const file = join(folder(), 'inbox.db')
    const inbox = createInbox({ store: sqliteStore(file) })
    const own = createReceiver({ secret, inbox })
    await inbox.open()
    const worker = createWorker(own)
    await worker.start()
    onTestFinished(async () => {
      await worker.drain()
      await inbox.close()
    })
    return { file, inbox, url: await serve(toNode(own)) }
  }

  test('is listed by its ids, with the way to settle it', async () => {
    const { file, inbox, url } = await appWithInbox()
    const args = ['doctor', '--to', url, '--inbox', file]
    const { records, stderr, code } = await runJson(args, { env })
    expect(code).toBe(0)
    const [left] = records.filter(({ type }) => type === 'left')
    const { entries } = await inbox.find({ limit: 500 })
    const ids = ((left?.entries as { id: string }[] | undefined) ?? []).map(({ id }) => id)
    expect(ids.sort()).toEqual(entries.map(({ id }) => id).sort())
    expect(left).toMatchObject({ event: 'idv-webhooks.doctor', unreadable: 2 })
    expect(left?.eventIds).toHaveLength(entries.length - 2)
    for (const id of ids) expect(stderr).toContain(id)
    const dead = async () => (await inbox.find({ state: 'dead' })).entries.map(({ id }) => id)
    await expect.poll(async () => (await dead()).length).toBe(2)
    expect(stderr).toContain(`inbox dismiss --inbox ${file}`)
    const dismiss = ['inbox', 'dismiss', '--inbox', file, ...(await dead()), '--yes']
    expect(await run(dismiss)).toMatchObject({ code: 0 })
    expect(await dead()).toEqual([])
  })

  test('is told by the ids of its events where the inbox is out of reach', async () => {
    const { url } = await appWithInbox()
    const { stderr } = await run(['doctor', '--to', url], { env })
    expect(stderr).toMatch(/left in the inbox: \d+ entries .* 2 dead letters that cannot be read/)
    expect(stderr).toMatch(/event id doctor-[0-9a-f]{8}-genuine/)
  })

  test('is nothing under --leave-nothing, and what that leaves out is said', async () => {
    const { inbox, url } = await appWithInbox()
    const { records, stderr, code } = await runJson(['doctor', '--to', url, '--leave-nothing'], {
      env,
    })
    expect((await inbox.find({ limit: 1 })).entries).toEqual([])
    expect(records).toContainEqual({ type: 'unchecked', name: 'exact bytes' })
    expect(records.filter(({ type }) => type === 'probe').length).toBeGreaterThan(5)
    expect(stderr).not.toContain('left in the inbox')
    expect(code).toBe(0)
    const consumed = await apps['express.json() first']()
    const other = await runJson(['doctor', '--to', consumed, '--leave-nothing'], { env })
    expect(other.records).toContainEqual(expect.objectContaining({ cause: 'body-consumed' }))
    expect(other.code).toBe(1)
  })
})

test('what was not checked is said; nothing at all is a usage error', async () => {
  const nothing = await runJson(['doctor'])
  expect(nothing.code).toBe(2)
  expect(nothing.records.filter(({ type }) => type === 'unchecked')).toHaveLength(3)
  expect(nothing.records.at(-1)).toMatchObject({ type: 'error', code: 'USAGE' })
  const local = await runJson(['doctor'], { env })
  expect(local.code).toBe(0)
  expect(local.records.filter(({ type }) => type === 'unchecked')).toEqual([
    { type: 'unchecked', name: 'to' },
    { type: 'unchecked', name: 'inbox' },
  ])
})
