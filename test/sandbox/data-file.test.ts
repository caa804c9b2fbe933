import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { createSandbox } from '../../tools/sandbox/sandbox.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'
import { answering, secret } from './receiving.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'idv-data-'))
  closing.push(() => rmSync(path, { recursive: true }))
  return path
}

const file = () => join(folder(), 'sandbox.json')
const quiet: SandboxOptions = { fetch: async () => new Response() }

async function fresh(options: SandboxOptions) {
  const sandbox = await openSandbox({ ...quiet, ...options })
  closing.push(() => sandbox.close())
  return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
}

/** The state after a kill: the file without the end that a sandbox writes. */
function killed(path: string): string {
  const copy = file()
  writeFileSync(copy, readFileSync(path))
  return copy
}

const rejection = { code: 'DATA_FILE_FAILED' }

describe('a file is rejected, and left as it is,', () => {
  const spoiled = (change: (content: Json) => void) => (text: string) => {
    const content = JSON.parse(text)
    change(content)
    return JSON.stringify(content)
  }

  test.each<[string, (text: string) => string, RegExp]>([
    ['that is something else', () => '{"name":"a package"}', /start/],
    ['that is no JSON', (text) => text.slice(0, -9), /JSON/],
    ['of another version', spoiled((one) => (one.snapshot.version = 9)), /snapshot\.version/],
    [
      'with a damaged record',
      spoiled((one) => (one.snapshot.state.clients[0] = [])),
      /snapshot\.state\.clients\.0/,
    ],
  ])('%s', async (_what, spoil, message) => {
    const data = file()
    const { sandbox, call } = await fresh({ data })
    await call('POST', '/v2/api/clients', { body: {} })
    await sandbox.close()
    writeFileSync(data, spoil(readFileSync(data, 'utf8')))
    const before = readFileSync(data, 'utf8')
    const opening = createSandbox({ data })
    await expect(opening).rejects.toMatchObject(rejection)
    await expect(opening).rejects.toThrow(message)
    await expect(opening).rejects.toThrow(data)
    expect(readFileSync(data, 'utf8')).toBe(before)
  })
})

test('a file that cannot be written is an error at the start, and 503 later on', async () => {
  await expect(createSandbox({ data: join(folder(), 'none', 'x.json') })).rejects.toMatchObject(
    rejection,
  )
  const path = folder()
  const { sandbox, call } = await fresh({ data: join(path, 'sandbox.json') })
  rmSync(path, { recursive: true })
  expect((await call('POST', '/v2/api/clients', { body: {} })).status).toBe(503)
  await expect(sandbox.flush()).rejects.toMatchObject(rejection)
  closing.length = 0
  await expect(sandbox.close()).rejects.toMatchObject(rejection)
})

describe('after a kill the file still has', () => {
  test('the faults, and how often each has struck', async () => {
    const data = file()
    const { call } = await fresh({ data })
    const faults = [{ kind: 'error-500', times: 2 }, { kind: 'duplicate' }]
    expect((await call('PUT', '/_sandbox/faults', { body: { faults } })).status).toBe(200)
    const one = await fresh({ data: killed(data) })
    expect(one.sandbox.faults.list()).toMatchObject(faults)
    expect((await call('GET', '/v2/api/clients')).status).toBe(500)
    const two = await fresh({ data: killed(data) })
    expect(two.sandbox.faults.list()).toMatchObject([{ struck: 1 }, { struck: 0 }])
    await call('DELETE', '/_sandbox/faults')
    expect((await fresh({ data: killed(data) })).sandbox.faults.list()).toEqual([])
  })

  test('the counted requests, rejected ones too', async () => {
    const data = file()
    const { call } = await fresh({ data, rateLimit: 2 })
    expect((await call('GET', '/v2/api/clients')).status).toBe(200)
    expect((await call('GET', '/v2/api/clients/nobody')).status).toBe(404)
    const { call: again } = await fresh({ data: killed(data), rateLimit: 2 })
    expect((await again('GET', '/v2/api/clients')).status).toBe(429)
  })

  test('everything that was answered, whenever the process is killed', async () => {
    const path = folder()
    const data = join(path, 'sandbox.json')
    for (let round = 0; round < 3; round++) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'killed-sandbox.ts'), data],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      closing.push(() => ended(child))
      const lines = createInterface({ input: child.stdout })
      const [url] = await once(lines, 'line')
      const answered: string[] = []
      const call = caller(String(url), fetch)
      const many = Array.from({ length: 8 }, async () => {
        for (;;) {
          const { status, body } = await call('POST', '/v2/api/clients', { body: {} })
          if (status === 201) answered.push(body.id)
          if (answered.length >= 40 + round * 37) child.kill('SIGKILL')
        }
      })
      await Promise.allSettled(many)
      await ended(child)
      const sandbox = await createSandbox({ data: killed(data) })
      closing.push(() => sandbox.close())
      const kept = new Set(sandbox.snapshot().state.clients.map(({ resource }) => resource.id))
      expect(answered.filter((id) => !kept.has(id))).toEqual([])
      expect(answered.length).toBeGreaterThan(30)
    }
  })
})

test('a data file is readable by its owner only, and nothing lies beside it', async () => {
  const before = process.umask(0)
  closing.push(() => process.umask(before))
  const data = file()
  writeFileSync(data, JSON.stringify(await started()))
  chmodSync(data, 0o644)
  const { sandbox, call } = await fresh({ data })
  await call('POST', '/v2/api/clients', { body: {} })
  await sandbox.close()
  expect((statSync(data).mode & 0o777).toString(8)).toBe('600')
  expect(readdirSync(join(data, '..'))).toEqual(['sandbox.json'])
})

async function started(): Promise<unknown> {
  const data = file()
  await (await fresh({ data })).sandbox.close()
  return JSON.parse(readFileSync(data, 'utf8'))
}

describe('opened again', () => {
  const url = 'http://127.0.0.1:9/hooks'

  test('a file has everything, deliveries in the middle of their retries too', async () => {
    const data = file()
    const peer = await answering([{ status: 500 }, { status: 500 }])
    closing.push(peer.close)
    const options = { data, subscriptions: [{ url: peer.url, secret }] }
    const one = await openSandbox(options)
    const call = caller(one.url, one.fetch)
    const { body } = await call('POST', '/v2/api/verifications', { body: minimal })
    await one.clock.advance({ seconds: 5 })
    expect(peer.bodies).toHaveLength(2)
    const before = one.snapshot()
    await one.close()
    const two = await openSandbox(options)
    closing.push(() => two.close())
    expect(two.snapshot()).toEqual(before)
    expect(two.secret).toBe(one.secret)
    await two.clock.advance({ seconds: 30 })
    expect(peer.bodies).toHaveLength(3)
    expect(new Set(peer.bodies).size).toBe(1)
    const read = await caller(two.url, two.fetch)('GET', `/v2/api/verifications/${body.id}`)
    expect(read.status).toBe(200)
  })

  test('a file keeps its options, and rejects others by name', async () => {
    const data = file()
    const first = { data, secret: 'the-first-secret', subscriptions: [{ url }] }
    const { sandbox } = await fresh({ ...first, seed: 1 })
    const { id } = sandbox.deliveries.subscriptions.list()[0] ?? { id: '' }
    sandbox.deliveries.subscriptions.update(id, { events: ['client.*'], secret: 'changed-later' })
    await sandbox.clock.advance({ days: 1 })
    await sandbox.close()
    for (const [options, message] of [
      [{ secret: 'the-second-secret' }, /started with another secret: leave secret out and change/],
      [{ subscriptions: [] }, /started with another subscriptions/],
      [{ subscriptions: [{ url, events: ['client.*'] }] }, /started with another subscriptions/],
      [{ seed: 2 }, /started with another seed/],
      [{ now: '2027-01-01T00:00:00Z' }, /started with another now/],
    ] as const) {
      const opening = createSandbox({ data, ...options })
      await expect(opening).rejects.toMatchObject({ code: 'OPTION_INVALID' })
      await expect(opening).rejects.toThrow(message)
      await expect(opening).rejects.not.toThrow(/the-(first|second)-secret/)
    }
    for (const options of [
      { ...first, seed: '1', now: '2026-03-01T11:00:00+01:00' },
      { data, seed: 1 },
      { data },
    ]) {
      const again = await createSandbox(options)
      closing.push(() => again.close())
      expect([again.seed, again.secret]).toEqual([1, 'the-first-secret'])
      expect(again.clock.now().toISOString()).toBe('2026-03-02T10:00:00.000Z')
      expect(again.deliveries.subscriptions.list()).toMatchObject([
        { id, events: ['client.*'], secret: 'changed-later' },
      ])
      await again.close()
    }
  })

  test('a reset goes back to the subscriptions of the first start', async () => {
    const data = file()
    const first = await fresh({ data, subscriptions: [{ url }] })
    first.sandbox.deliveries.subscriptions.create({ url: 'http://127.0.0.1:9/other' })
    await first.sandbox.close()
    const { sandbox } = await fresh({ data })
    expect(sandbox.deliveries.subscriptions.list()).toHaveLength(2)
    sandbox.reset()
    expect(sandbox.deliveries.subscriptions.list()).toMatchObject([{ url }])
  })

  test('a sandbox can be closed twice', async () => {
    const { sandbox, call } = await fresh({ data: file() })
    await call('POST', '/v2/api/verifications', { body: minimal as Json })
    await Promise.all([sandbox.close(), sandbox.close()])
    await sandbox.close()
  })
})

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
