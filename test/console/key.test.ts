import { inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { processState } from '../../src/host/process.ts'

const origin = 'http://localhost:3000'
const spy = () => vi.spyOn(console, 'warn').mockImplementation(() => {})
let warned: ReturnType<typeof spy>

beforeEach(() => {
  warned = spy()
  // As in a process that has just started.
  delete processState().consoleKey
})
afterEach(() => {
  vi.restoreAllMocks()
})

function opened() {
  const { fetch } = inboxConsole(createInbox({ store: memoryStore() }), {
    authorize: 'loopback',
    basePath: '/inbox',
  })
  return (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(new Request(origin + path, { method, headers: { host: 'localhost:3000', ...headers } }))
}

/** The answer's code, in the form in which the pages' own requests get it. */
const codeOf = async (response: Response) =>
  response.status < 400 ? response.status : ((await response.json()) as { code: string }).code

/** The paths that the process showed, on the server that asks. */
const links = () =>
  warned.mock.calls.map(([message]) => {
    expect(message).toMatch(/^IDV_CONSOLE_KEY: /)
    // The client would choose the host.
    expect(message).not.toContain('localhost')
    return new URL(/\/\S*/.exec(String(message))?.[0] ?? '', origin)
  })

test('a key in the terminal lets a browser in over fetch, and nothing else does', async () => {
  const ask = opened()
  expect(await codeOf(await ask('/inbox'))).toBe('KEY_MISSING')
  const [link] = links()
  if (!link) throw new Error('no link was shown')
  expect(link.href).toMatch(/^http:\/\/localhost:3000\/inbox\?key=[\w-]{32}$/)

  const redirect = await ask(link.pathname + link.search)
  expect([redirect.status, redirect.headers.get('location')]).toEqual([303, '/inbox'])
  const [set = ''] = redirect.headers.getSetCookie()
  expect(set).toMatch(/; HttpOnly; SameSite=Strict$/)
  const [cookie = ''] = set.split(';')
  expect((await ask('/inbox', { cookie })).status).toBe(200)
  expect((await ask('/inbox/api/entries', { cookie })).status).toBe(200)

  const key = link.searchParams.get('key') ?? ''
  for (const wrong of [cookie.slice(0, -1), `${cookie}A`, cookie.replace(key, 'A'.repeat(32))]) {
    expect(await codeOf(await ask('/inbox/api/entries', { cookie: wrong })), wrong).toBe(
      'KEY_MISSING',
    )
  }
  // Only the page takes the key from an address, which stands in logs and histories.
  expect(await codeOf(await ask(`/inbox/api/entries?key=${key}`))).toBe('KEY_MISSING')
  expect(await codeOf(await ask(`/inbox?key=${key}`, {}, 'POST'))).toBe('KEY_MISSING')
  expect(await codeOf(await ask(`/inbox?key=${key.slice(0, -1)}`))).toBe('KEY_MISSING')
})

test('the key opens the mount even if a framework strips its path', async () => {
  const ask = opened()
  await ask('/')
  const [link] = links()
  const redirect = await ask(`/${link?.search}`)
  expect([redirect.status, redirect.headers.get('location')]).toEqual([303, '/inbox'])
})

test("a client that forges this machine's headers gets no further", async () => {
  const ask = opened()
  const headers = { 'x-forwarded-for': '127.0.0.1', 'x-forwarded-host': 'localhost:3000' }
  for (const path of ['/inbox', '/inbox/api/entries', '/inbox/api/events', '/inbox/console.js']) {
    expect(await codeOf(await ask(path, headers)), path).toBe('KEY_MISSING')
  }
})

test('the key is shown again after a while, and an edit keeps the key', async () => {
  const clock = vi.spyOn(performance, 'now')
  const at = performance.now()
  clock.mockReturnValue(at)
  const ask = opened()
  for (let times = 0; times < 5; times++) await ask('/inbox')
  await ask('/inbox/api/entries')
  expect(links()).toHaveLength(1)

  vi.resetModules()
  const again = await import('../../tools/console/inbox-console.ts')
  const edited = again.inboxConsole(createInbox({ store: memoryStore() }), {
    authorize: 'loopback',
  })
  clock.mockReturnValue(at + 10_000)
  await edited.fetch(new Request(origin))
  const keys = links().map(({ searchParams }) => searchParams.get('key'))
  expect(keys).toEqual([keys[0], keys[0]])
})

test("'loopback' answers under a name of this machine alone", async () => {
  const ask = opened()
  const code = async (host: string) => codeOf(await ask('/inbox', { host }))
  for (const host of ['localhost:3000', '127.0.0.1', '[::1]:80']) {
    expect(await code(host), host).toBe('KEY_MISSING')
  }
  for (const host of ['evil.example', 'localhost.evil.example', '10.0.0.7']) {
    expect(await code(host), host).toBe('HOST_REFUSED')
  }
})

test("'loopback' believes no proxy or tunnel that rewrites the Host header", async () => {
  const ask = opened()
  const code = async (headers: Record<string, string>) =>
    codeOf(await ask('/inbox/api/entries', headers))
  // As `next dev` adds them to a request from this machine.
  const own = { 'x-forwarded-for': '::ffff:127.0.0.1', 'x-forwarded-host': 'localhost:3000' }
  expect(await code(own)).toBe('KEY_MISSING')
  expect(await code({ 'x-forwarded-for': '203.0.113.7' })).toBe('FORBIDDEN')
  expect(await code({ 'x-forwarded-for': '127.0.0.1, 203.0.113.7' })).toBe('FORBIDDEN')
  expect(await code({ 'x-forwarded-host': 'abc.tunnel.example' })).toBe('FORBIDDEN')
  expect(await code({ forwarded: 'for=203.0.113.7' })).toBe('FORBIDDEN')
})
