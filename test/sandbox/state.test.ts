import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { createSandbox } from '../../tools/sandbox/create-sandbox.ts'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import type { Sandbox } from '../../tools/sandbox/sandbox.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'
import { answering, receiving, secret } from './receiving.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox(options)
  closing.push(() => sandbox.close())
  return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'idv-sandbox-'))
  closing.push(() => rmSync(path, { recursive: true }))
  return path
}

/** A little of everything; gives each answer as text. */
async function story(sandbox: Sandbox): Promise<string[]> {
  const told: string[] = []
  const send = async (method: string, path: string, body?: object) => {
    const response = await sandbox.fetch(
      new Request(`${sandbox.url}${path}`, {
        method,
        headers: { 'x-api-key': 'key_acme', 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    // How long an answer took is measured, and all that may differ.
    told.push(`${response.status} ${text.replaceAll(/"durationMs":\d+,?/g, '')}`)
    return JSON.parse(text) as Json
  }
  sandbox.faults.set([
    { kind: 'duplicate', probability: 0.5 },
    { kind: 'tampered', probability: 0.3 },
    { kind: 'error-500', probability: 0.2, path: '/clients' },
  ])
  const client = await send('POST', '/_sandbox/api-keys', { organizationId: 'org_acme' })
  expect(client.key).toMatch(/^key_/)
  const ids: string[] = []
  for (const subjectName of ['Ada', 'Auto Approve', 'Grace', 'No Answer']) {
    const body = { ...minimal, subjectName, subjectEmail: 's@x.example' }
    ids.push((await send('POST', '/v2/api/verifications', body)).id)
    await send('POST', '/v2/api/clients', { nameFirst: subjectName })
  }
  await sandbox.act(String(ids[0]), ['start', { action: 'submit', step: 'document' }])
  await sandbox.flush()
  await sandbox.clock.advance({ days: 8 })
  await send('POST', `/_sandbox/verifications/${ids[0]}/actions`, { actions: ['reject'] })
  await send('POST', '/v2/api/verifications', { type: 'nonsense' })
  await sandbox.flush()
  for (const id of ids) await send('GET', `/v2/api/verifications/${id}`)
  await send('GET', '/v2/api/requests?sort=status')
  await send('GET', '/_sandbox/outbox')
  for (const { id } of (await send('GET', '/_sandbox/deliveries')).data) {
    await send('GET', `/_sandbox/deliveries/${id}`)
  }
  return told
}

describe('determinism', () => {
  const quiet: SandboxOptions = {
    subscriptions: [{ url: 'http://127.0.0.1:9/hooks', events: ['*'] }],
    fetch: async () => new Response('thanks'),
  }

  test('the same seed and the same calls give the same bytes, another seed others', async () => {
    const one = await story((await fresh(quiet)).sandbox)
    const again = await story((await fresh(quiet)).sandbox)
    const other = await story((await fresh({ ...quiet, seed: 8 })).sandbox)
    expect(again).toEqual(one)
    expect(other).not.toEqual(one)
    expect(one.length).toBeGreaterThan(30)
  })

  test('without a seed each sandbox has its own, and says which', async () => {
    const [one, other] = [await createSandbox(), await createSandbox()]
    expect(one.seed).not.toBe(other.seed)
    expect(one.secret).not.toBe(other.secret)
    const same = await createSandbox({ seed: one.seed })
    expect(same.secret).toBe(one.secret)
    for (const sandbox of [one, other, same]) await sandbox.close()
  })

  test('a reset is total: the same calls produce the same bytes as after the start', async () => {
    const { sandbox } = await fresh(quiet)
    const before = sandbox.snapshot()
    const told = await story(sandbox)
    sandbox.reset()
    expect(sandbox.snapshot()).toEqual(before)
    expect(await story(sandbox)).toEqual(told)
  })

  test('a snapshot is JSON, and the same calls after a restore produce the same bytes', async () => {
    const { sandbox, call } = await fresh(quiet)
    await story(sandbox)
    const { body } = await call('GET', '/_sandbox/snapshot')
    const tell = async () => {
      const made = await call('POST', '/v2/api/verifications', { body: minimal })
      await sandbox.clock.advance({ days: 10 })
      return [made.body, (await call('GET', '/_sandbox/deliveries')).body]
    }
    const told = await tell()
    await call('PUT', '/_sandbox/snapshot', { body })
    expect(await tell()).toEqual(told)
  })

  test('a snapshot of any size is restored over HTTP', async () => {
    const { sandbox, call } = await fresh(quiet)
    const metadata = { text: 'x'.repeat(300_000) }
    for (let at = 0; at < 4; at++) await call('POST', '/v2/api/clients', { body: { metadata } })
    const { body } = await call('GET', '/_sandbox/snapshot')
    sandbox.reset()
    expect((await call('PUT', '/_sandbox/snapshot', { body })).status).toBe(200)
    expect(sandbox.snapshot().state.clients).toHaveLength(4)
  })

  test('a value that is not a snapshot is rejected and changes nothing', async () => {
    const { sandbox, call } = await fresh(quiet)
    await story(sandbox)
    const before = sandbox.snapshot()
    for (const body of [
      {},
      { ...before, version: 1 },
      { ...before, state: {} },
      { ...before, webhooks: { subscriptions: [], deliveries: [1] } },
    ]) {
      const { status } = await call('PUT', '/_sandbox/snapshot', { body })
      expect(status).toBe(422)
      expect(sandbox.snapshot()).toEqual(before)
      expect(() => sandbox.restore(body as never)).toThrow(/snapshot/)
    }
  })
})

describe('scenarios', () => {
  test('a scenario written by hand names what it creates, acts on it and moves the clock', async () => {
    const receiver = await receiving()
    closing.push(receiver.close)
    const sandbox = await createSandbox({
      scenario: {
        version: 1,
        seed: 'by hand',
        clock: { now: '2026-01-01T00:00:00Z' },
        subscriptions: [{ url: receiver.url, secret, events: ['verification.*'] }],
        faults: [{ kind: 'duplicate', times: 1 }],
        actions: [
          { create: 'client', body: { nameFirst: 'Ada' }, as: 'ada' },
          { create: 'verification', body: { ...minimal, clientId: '{ada}' }, as: 'hers' },
          { act: 'hers', actions: ['start', 'submit', 'approve'] },
          { advance: { days: 1 } },
          { request: { path: '/v2/api/verifications/{hers}' }, expect: 200 },
          { request: { path: '/v2/api/verifications/nobody' }, expect: 404 },
          { flush: true },
        ],
      },
    })
    closing.push(() => sandbox.close())
    const names = receiver.recorder.events.map(({ name }) => name)
    expect(names.toSorted()).toEqual([
      'verification.approved',
      'verification.created',
      'verification.created',
      'verification.submitted',
    ])
    expect(sandbox.clock.now().toISOString()).toBe('2026-01-02T00:00:00.000Z')
  })

  test('an invalid scenario, or one with an unexpected answer, says where', async () => {
    await expect(createSandbox({ scenario: { version: 2 } as never })).rejects.toMatchObject({
      code: 'SCENARIO_INVALID',
      message: expect.stringContaining('version'),
    })
    const scenario = {
      version: 1 as const,
      actions: [{ act: 'nobody', actions: ['start' as const] }],
    }
    await expect(createSandbox({ scenario })).rejects.toMatchObject({
      code: 'SCENARIO_FAILED',
      message: expect.stringMatching(/action 0.*404/),
    })
    const unmet = {
      version: 1,
      actions: [{ request: { path: '/v2/api/clients' }, expect: 404 }],
    }
    await expect(createSandbox({ scenario: unmet })).rejects.toThrow(/answered 200, expected 404/)
  })
})

describe('a data file', () => {
  test('a data file keeps everything across a restart, deliveries in the middle of their retries too', async () => {
    const data = join(folder(), 'sandbox.db')
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

  test('a data file goes on with its own seed and rejects another', async () => {
    const data = join(folder(), 'sandbox.db')
    await (await createSandbox({ data, seed: 1 })).close()
    await expect(createSandbox({ data, seed: 2 })).rejects.toThrow(
      /started with another seed \(1\)/,
    )
    const again = await createSandbox({ data })
    closing.push(() => again.close())
    expect(again.seed).toBe(1)
  })

  test('a data file is rejected while another sandbox has it, and when it is something else', async () => {
    const path = folder()
    const data = join(path, 'sandbox.db')
    await fresh({ data })
    await expect(openSandbox({ data })).rejects.toMatchObject({ code: 'DATA_FILE_FAILED' })
    const text = join(path, 'notes.txt')
    writeFileSync(text, 'not a database, but long enough to be looked at'.repeat(100))
    await expect(openSandbox({ data: text })).rejects.toMatchObject({ code: 'DATA_FILE_FAILED' })
    const newer = join(path, 'newer.db')
    const db = new DatabaseSync(newer)
    db.exec(`PRAGMA application_id = ${0x49445653}; PRAGMA user_version = 9`)
    db.close()
    await expect(openSandbox({ data: newer })).rejects.toThrow(/format 9/)
  })

  test('a data file has everything that was answered, whenever the process is killed', async () => {
    const path = folder()
    const data = join(path, 'sandbox.db')
    for (let round = 0; round < 3; round++) {
      const child = spawn(
        process.execPath,
        [join(import.meta.dirname, 'killed-sandbox.ts'), data],
        {
          stdio: ['ignore', 'pipe', 'inherit'],
        },
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
      const copy = join(path, `copy-${round}.db`)
      for (const end of ['', '-wal']) copyFileSync(data + end, copy + end)
      const sandbox = await createSandbox({ data: copy })
      closing.push(() => sandbox.close())
      const kept = new Set(sandbox.snapshot().state.clients.map(({ resource }) => resource.id))
      expect(answered.filter((id) => !kept.has(id))).toEqual([])
      expect(answered.length).toBeGreaterThan(30)
    }
  })
})

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
