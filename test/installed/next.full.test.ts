import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { exactBodies, notUtf8 } from '../bodies.ts'
import { pageAt } from './console-page.ts'
import { edge, exercise, expected } from './exercise.ts'
import { deliver, post, start } from './program.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const { app } = inject('installed')
const folder = join(app, 'next-app')
const next = join(app, 'node_modules/next/dist/bin/next')
const away = mkdtempSync(join(tmpdir(), 'idv-standalone-'))
afterAll(() => rmSync(away, { recursive: true, force: true }))

const event = (id: string) => ({ id, event: 'verification.approved', data: { id: 'ver_42' } })
const inbox = (name: string) => ({ INBOX: join(away, `${name}.db`) })

/** Starts the app and gives its address. */
async function serving(cwd: string, args: readonly string[], env: Record<string, string>) {
  const DATABASE_URL = 'postgres://nobody@127.0.0.1:1/none'
  const all = { DATABASE_URL, NEXT_MANUAL_SIG_HANDLE: 'true', ...env }
  const ready = /localhost:(\d+).*Ready/s
  const { child, until, started, printed } = start(args, { cwd, env: all, ready })
  return { child, until, printed, url: `http://127.0.0.1:${ready.exec(await started)?.[1]}` }
}

/** A port that is free now: the standalone server takes 0 for 3000. */
async function freePort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return String(port)
}

// One app for everything: the example, an inbox on SQLite, a route of the edge runtime. It is built
// without a secret, and its configuration says nothing about the package.
beforeAll(async () => {
  cpSync(join(root, 'examples/next'), folder, { recursive: true })
  cpSync(join(import.meta.dirname, 'next-app'), folder, { recursive: true })
  const { WEBHOOK_SECRET: _, ...env } = process.env
  await run(process.execPath, [next, 'build'], {
    cwd: folder,
    env: { ...env, ...inbox('build'), NEXT_TELEMETRY_DISABLED: '1' },
  })
}, 180_000)

test('a build opens no inbox', () => {
  expect(existsSync(inbox('build').INBOX)).toBe(false)
})

test('the Next.js example receives exact bytes through both routers', async () => {
  const { until, url: base } = await serving(folder, [next, 'start', '-p', '0'], inbox('start'))
  for (const path of ['webhooks', 'api/webhooks']) {
    const url = `${base}/${path}`
    expect(await post(url, event('evt_1')), path).toEqual([200, 401])
    for (const [name, body] of exactBodies) {
      expect(await post(url, body), `${path}: ${name}`).toEqual([200, 401])
    }
    expect(await post(url, notUtf8), path).toEqual([400, 401])
    expect((await fetch(url)).status, path).toBe(405)
    const large = await post(url, new Uint8Array(2 ** 20 + 1).fill(32))
    expect(large, path).toEqual([413, 413])
  }
  await until(/approved: ver_42/)
  const { ask } = await pageAt(`${base}/inbox`)
  // There is no server of Postgres here, and the console says so.
  expect(await ask('/entries')).toMatchObject({ code: 'STORE_UNAVAILABLE', statusCode: 503 })
})

test(`the standalone output, moved elsewhere, keeps, handles and ends, and its route of the ${edge} does all that it promises`, async () => {
  cpSync(join(folder, '.next/standalone'), away, { recursive: true, verbatimSymlinks: true })
  const { child, until, url } = await serving(join(away, 'next-app'), ['server.js'], {
    ...inbox('moved'),
    PORT: await freePort(),
  })
  expect(await deliver(`${url}/kept`, event('evt_1'))).toBe('202 accepted')
  expect(await deliver(`${url}/kept`, event('evt_1'))).toBe('200 duplicate')
  await until(/handler 1: ver_42/)
  // The other router has modules of its own, and the same inbox.
  expect(await deliver(`${url}/api/kept`, event('evt_1'))).toBe('200 duplicate')
  expect(await deliver(`${url}/api/kept`, event('evt_2'))).toBe('202 accepted')
  await until(/(?:handler 1: ver_42.*){2}/s)
  expect(await exercise(`${url}/edge`)).toEqual(expected)
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
})

test('under next dev an edited handler runs, no delivery is refused meanwhile, and the console opens no second inbox', async () => {
  const { until, printed, url } = await serving(folder, [next, 'dev', '-p', '0'], inbox('dev'))
  let id = 0
  const send = () => deliver(`${url}/kept`, event(`evt_${++id}`))
  expect(await send()).toBe('202 accepted')
  await until(/handler 1: ver_42/)
  const file = join(folder, 'inbox-receiver.ts')
  for (const edit of [2, 3]) {
    writeFileSync(file, readFileSync(file, 'utf8').replace(/handler \d/, `handler ${edit}`))
    let hasRun = false
    const running = until(new RegExp(`handler ${edit}: ver_42`)).then(() => {
      hasRun = true
    })
    while (!hasRun) expect(await send()).toBe('202 accepted')
    await running
    // It stays the one that runs: the inbox's module was not loaded again.
    const ran = () => [...printed().matchAll(/handler (\d): ver_42/g)].map(([, by]) => Number(by))
    for (let more = 0; more < 3; more++) {
      expect(await send()).toBe('202 accepted')
      await expect.poll(() => ran().length, { timeout: 10_000 }).toBe(id)
    }
    expect(ran().slice(-3)).toEqual([edit, edit, edit])
  }
  // A request that delivers nothing loads an edit too, for what is redriven or replayed.
  writeFileSync(file, readFileSync(file, 'utf8').replace(/handler \d/, 'handler 4'))
  const cli = join(app, 'node_modules/idv-webhooks/dist/cli.js')
  const replay = ['inbox', 'replay', '--inbox', inbox('dev').INBOX, '--since', '1h', '--yes']
  const requested = async () => {
    expect((await fetch(`${url}/kept`)).status).toBe(405)
    await run(process.execPath, [cli, ...replay], { cwd: app })
    return printed()
  }
  await expect.poll(requested, { timeout: 20_000, interval: 500 }).toContain('handler 4: ver_42')
  // Next.js loads a route with a parameter in a second process too.
  const { ask } = await pageAt(`${url}/kept/console`)
  expect(await ask('/entries')).toMatchObject({ items: expect.any(Array) })
  expect(printed()).not.toContain('STORE_OWNED')

  // Next.js keeps this header as a stranger on its network wrote it.
  const claimed = { 'x-forwarded-for': '127.0.0.1' }
  expect((await fetch(`${url}/kept/own`, { headers: claimed })).status).toBe(403)
  const [path] = /\/kept\/own\?key=[\w-]{32}/.exec(await until(/\?key=[\w-]{32}/)) ?? []
  const opened = await fetch(`${url}${path}`, { redirect: 'manual' })
  expect(opened.headers.get('location')).toBe('/kept/own')
  const cookie = opened.headers.getSetCookie()[0]?.split(';')[0] ?? ''
  const entries = await fetch(`${url}/kept/own/api/entries`, { headers: { cookie } })
  expect(await entries.json()).toMatchObject({ items: expect.any(Array) })
})
