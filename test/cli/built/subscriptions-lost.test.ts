import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serve } from './apps.ts'
import { folder, run, runJson, start } from './run.ts'
import { mixed, old, service } from './subscription-service.ts'

const journalOf = (cwd: string) => join(cwd, 'idv-webhooks.subscriptions.json')

describe('an answer that is lost', () => {
  test('to a creation leaves no subscription that nobody knows', async () => {
    const rows = [old('sub_1', ['request.approved'])]
    const { url, state } = await service(rows, { loses: (method) => method === 'POST' })
    const ran = await run(['migrate', 'subscriptions', url, '--apply'], { cwd: folder() })
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('no answer') })
    expect(state().map(([id]) => id)).toEqual(['sub_1'])
  })

  test.each(['--apply', '--rollback'])(
    'stays in the journal while nobody can look, and the next %s removes what it made',
    async (flag) => {
      let [losing, broken] = [true, false]
      const { url, state } = await service([old('sub_1', ['request.approved'])], {
        loses(method) {
          broken ||= losing && method === 'POST'
          return broken
        },
      })
      const cwd = folder()
      const args = ['migrate', 'subscriptions', url]
      const first = await runJson([...args, '--apply'], { cwd })
      expect(first.code).toBe(1)
      expect(first.records).toMatchObject([
        { type: 'taken-back', steps: 0, begun: 1 },
        { type: 'remains', of: 'sub_1', events: ['verification.approved'] },
        { type: 'error', code: 'SERVICE_SILENT' },
      ])
      expect(first.stderr).toContain('it is not known whether a subscription to')
      expect(readFileSync(journalOf(cwd), 'utf8')).not.toContain('secret')
      expect(state().map(([id]) => id)).toEqual(['sub_1', 'new_1'])
      losing = false
      broken = false
      const second = await runJson([...args, flag], { cwd })
      expect(second.code).toBe(0)
      expect(second.records[0]).toMatchObject({ type: 'step', id: 'new_1', did: 'removed' })
      expect(state().map(([id]) => id)).toEqual(flag === '--apply' ? ['sub_1', 'new_2'] : ['sub_1'])
      expect(existsSync(journalOf(cwd))).toBe(flag === '--apply')
    },
  )

  test('to the removal of the old one counts as what it did', async () => {
    let losing = false
    const made = await service([old('sub_1', ['request.approved'])], {
      loses: (method) => losing && method === 'DELETE',
    })
    const cwd = folder()
    const apply = ['migrate', 'subscriptions', made.url, '--apply']
    await run(apply, { cwd })
    made.deliver('new_1')
    losing = true
    expect(await run(apply, { cwd })).toMatchObject({ code: 0 })
    losing = false
    expect(made.state().map(([id]) => id)).toEqual(['new_1'])
    await run(['migrate', 'subscriptions', made.url, '--rollback'], { cwd })
    expect(made.state()).toEqual([['new_2', 'request.approved', 'secret-of-sub_1']])
  })

  test('to the removal is found out by a rollback, where nobody could look', async () => {
    let [losing, broken] = [false, false]
    const made = await service([old('sub_1', ['request.approved'])], {
      loses(method) {
        broken ||= losing && method === 'DELETE'
        return broken
      },
    })
    const cwd = folder()
    const args = ['migrate', 'subscriptions', made.url]
    await run([...args, '--apply'], { cwd })
    made.deliver('new_1')
    losing = true
    expect(await run([...args, '--apply'], { cwd })).toMatchObject({ code: 1 })
    expect(made.state().map(([id]) => id)).toEqual(['new_1'])
    losing = false
    broken = false
    expect(await run([...args, '--rollback'], { cwd })).toMatchObject({ code: 0 })
    expect(made.state()).toEqual([['new_2', 'request.approved', 'secret-of-sub_1']])
  })
})

describe('Ctrl-C', () => {
  test('waits for the change that was begun, takes back, and says so', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const made = await service(mixed(), {
      before(method, path) {
        const isSecond = method === 'POST' && path === '/subscriptions' && made.rows.length === 4
        if (!isSecond) return undefined
        begin()
        return held
      },
    })
    const before = structuredClone(made.state())
    const cwd = folder()
    const { child, ended } = start(['migrate', 'subscriptions', made.url, '--apply'], { cwd })
    await begun
    child.kill('SIGINT')
    // Longer than anything else waits for at the end of a run.
    await new Promise((resolve) => setTimeout(resolve, 3500))
    expect(child.exitCode).toBe(null)
    letGo()
    const ran = await ended
    expect(ran.code).toBe(130)
    // Both were done by then, and both stand, in the journal too.
    expect(made.state().length).toBe(5)
    expect(ran.stdout).toContain('sub_2')
    await run(['migrate', 'subscriptions', made.url, '--rollback'], { cwd })
    expect(made.state()).toEqual(before)
  })

  test('between two changes takes back the first', async () => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const made = await service(mixed(), {
      before(method) {
        if (method !== 'POST') return undefined
        begin()
        return held
      },
    })
    const before = structuredClone(made.state())
    const cwd = folder()
    const args = ['migrate', 'subscriptions', made.url, '--apply', '--json']
    const { child, ended } = start(args, { cwd })
    await begun
    child.kill('SIGTERM')
    setTimeout(letGo, 200)
    const ran = await ended
    expect(ran.code).toBe(130)
    expect(made.state()).toEqual(before)
    expect(existsSync(journalOf(cwd))).toBe(false)
    const records = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(records).toMatchObject([
      { type: 'taken-back', steps: 1, begun: 0 },
      { type: 'error', code: 'INTERRUPTED' },
    ])
    expect(ran.stderr).toContain('interrupted after 1 change: 1 step taken back')
  })
})

test('two runs at once create nothing twice', async () => {
  const { promise: held, resolve: letGo } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const made = await service([old('sub_1', ['request.approved'])], {
    before(method) {
      if (method !== 'POST') return undefined
      begin()
      return held
    },
  })
  const cwd = folder()
  const apply = ['migrate', 'subscriptions', made.url, '--apply']
  const { ended } = start(apply, { cwd })
  await begun
  const second = await runJson(apply, { cwd })
  expect(second).toMatchObject({ code: 1, records: [{ code: 'JOURNAL_LOCKED' }] })
  letGo()
  expect((await ended).code).toBe(0)
  expect(made.state().map(([id]) => id)).toEqual(['sub_1', 'new_1'])
  expect(existsSync(`${journalOf(cwd)}.lock`)).toBe(false)
})

test('a lock whose process is gone holds nobody up', async () => {
  const made = await service([old('sub_1', ['request.approved'])])
  const cwd = folder()
  const { hostname } = await import('node:os')
  writeFileSync(`${journalOf(cwd)}.lock`, `999999999 ${hostname()}\n`)
  expect(await run(['migrate', 'subscriptions', made.url, '--apply'], { cwd })).toMatchObject({
    code: 0,
  })
})

test('two secrets that are not shown are not taken for the same', async () => {
  const rows = [
    old('sub_1', ['request.approved']),
    { ...old('twin', ['verification.approved']), secret: 'another' },
  ]
  const { url } = await service(rows, { masks: 'later' })
  const { records } = await runJson(['migrate', 'subscriptions', url, '--apply'], {
    cwd: folder(),
    env: { WEBHOOK_SECRET: 'what the receiver has' },
  })
  expect(records[0]).toMatchObject({ did: 'created', replacement: 'new_1', secret: 'given' })
})

test('a service that is asked too often is asked again when it says so, and its message is told', async () => {
  let asked = 0
  const url = await serve((_, response) => {
    asked += 1
    if (asked === 1) response.writeHead(429, { 'retry-after': '0' }).end('{}')
    else response.writeHead(403).end('{"code":"FORBIDDEN","message":"not with this key"}')
  }, '')
  const ran = await run(['migrate', 'subscriptions', url])
  expect(ran).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('answered 403: not with this key'),
  })
  expect(asked).toBe(2)
})
