import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serve } from './apps.ts'
import { folder, run, runJson, transcript } from './run.ts'

const old = (id: string, events: readonly string[], active = true) => ({
  id,
  url: 'https://app.example.com/hooks',
  events,
  secret: `secret-of-${id}`,
  active,
})

describe('the plan of an export', () => {
  test('names for each what replaces it, and in which order', async () => {
    const cwd = folder()
    const data = [
      old('sub_1', ['request.approved', 'client.created']),
      old('sub_2', ['request.*']),
      old('sub_3', ['*']),
      old('sub_4', ['request.approved', 'verification.*']),
      old('sub_5', ['request.expired'], false),
    ]
    writeFileSync(join(cwd, 'export.json'), JSON.stringify({ data }))
    const args = ['migrate', 'subscriptions', 'export.json']
    const ran = await run(args, { cwd })
    await expect(transcript(args, ran)).toMatchFileSnapshot('transcripts/migrate-subscriptions.txt')
    expect(ran.stdout + ran.stderr).not.toContain('secret-of')
  })

  test('shows no user and password of an address', async () => {
    const url = 'https://hook:pa55@app.test/webhooks'
    const input = JSON.stringify([{ ...old('sub_1', ['request.approved']), url }])
    for (const more of [[], ['--json']]) {
      const ran = await run(['migrate', 'subscriptions', '-', ...more], { input })
      expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('//***@app.test') })
      expect(ran.stdout + ran.stderr).not.toMatch(/pa55|hook:/)
    }
  })

  test.each([
    ['no list', '{"x":1}'],
    ['no JSON', '{'],
    ['no filters', '[{"id":"a","url":"b"}]'],
  ])('of %s is an error', async (_, input) => {
    const ran = await run(['migrate', 'subscriptions', '-'], { input })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringMatching(/^error: /) })
  })
})

describe('a sandbox', () => {
  /** A sandbox with an old subscription, and a receiver that can be down. */
  async function sandboxWith(events: readonly string[]) {
    const secret = 'a-secret-of-the-team'
    const receiver = createReceiver({ secret })
    receiver.on('*', () => {
      if (state.down) throw new Error('down')
    })
    const state = { down: false }
    const hook = await serve(toNode(receiver))
    const sandbox = await createSandbox({ seed: 1, subscriptions: [{ url: hook, events, secret }] })
    onTestFinished(() => sandbox.close())
    const { url } = await sandbox.listen()
    const cwd = folder()
    const migrate = (...args: readonly string[]) =>
      runJson(['migrate', 'subscriptions', url, ...args], { cwd })
    const control = (method: string, path: string, body?: object) =>
      sandbox.fetch(
        new Request(`${url}/_sandbox${path}`, {
          method,
          headers: { 'content-type': 'application/json' },
          ...(body && { body: JSON.stringify(body) }),
        }),
      )
    const list = async () => {
      const { data } = (await (await control('GET', '/subscriptions?reveal=true')).json()) as {
        data: { id: string; events: string[]; secret: string }[]
      }
      return data
    }
    const approve = async () => {
      const response = await sandbox.fetch(
        new Request(`${sandbox.baseUrl}/verifications`, {
          method: 'POST',
          headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
          body: '{"type":"idv","requirements":["document"],"subjectName":"Ada Lovelace"}',
        }),
      )
      const { id } = (await response.json()) as { id: string }
      await sandbox.act(id, ['start', 'submit', 'approve'])
    }
    return { sandbox, state, cwd, url, migrate, list, approve }
  }

  test('keeps an old subscription while its deliveries are being retried', async () => {
    const { sandbox, state, migrate, list, approve } = await sandboxWith(['request.approved'])
    await migrate('--apply')
    await approve()
    await sandbox.flush()
    state.down = true
    await approve()
    // One attempt of each, which fails: a retry is due later.
    await expect
      .poll(() => sandbox.deliveries.list().filter(({ attempts }) => attempts.length > 0).length)
      .toBe(4)
    const { code, records } = await migrate('--apply')
    expect(records[0]).toMatchObject({ did: 'waiting', waitsFor: 'retries' })
    expect(code).toBe(1)
    state.down = false
    await sandbox.clock.advance({ days: 2 })
    expect((await migrate('--apply')).records[0]).toMatchObject({ did: 'removed' })
    expect((await list()).map(({ events }) => events)).toEqual([['verification.approved']])
  })

  test('gets back what it had, and the journal goes', async () => {
    const { sandbox, migrate, list, approve, cwd } = await sandboxWith([
      'request.approved',
      'client.created',
    ])
    const shown = async () => (await list()).map(({ events, secret }) => ({ events, secret }))
    const before = await shown()
    await migrate('--apply')
    const journal = join(cwd, 'idv-webhooks.subscriptions.json')
    expect(readFileSync(journal, 'utf8')).not.toContain('a-secret')
    await approve()
    await sandbox.flush()
    await migrate('--apply')
    expect(await shown()).toEqual([
      { events: ['verification.approved'], secret: 'a-secret-of-the-team' },
      { events: ['client.created'], secret: 'a-secret-of-the-team' },
    ])
    expect(await migrate('--rollback')).toMatchObject({ code: 0 })
    expect(await shown()).toEqual(before)
    expect(existsSync(journal)).toBe(false)
  })

  test('that is not rolled back for want of a journal is an error that names the file', async () => {
    const { url, cwd } = await sandboxWith(['request.approved'])
    const ran = await run(['migrate', 'subscriptions', url, '--rollback'], { cwd })
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(join(cwd, 'idv-webhooks.subscriptions.json')),
    })
  })
})
