import { afterEach, describe, expect, test } from 'vitest'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import type { Sandbox } from '../../tools/sandbox/sandbox.ts'
import { createSandbox } from '../../tools/sandbox/sandbox.ts'
import { minimal } from './conformance-rows.ts'
import { caller, type Json, openSandbox } from './open-sandbox.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox(options)
  closing.push(() => sandbox.close())
  return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
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
