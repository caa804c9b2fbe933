import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serve } from './apps.ts'
import { folder, run, runJson, start } from './run.ts'
import { mixed, old, service } from './subscription-service.ts'

const journalOf = (cwd: string) => join(cwd, 'idv-webhooks.subscriptions.json')

describe('a response that is lost', () => {
  const lost = async (masks?: 'always' | 'later') => {
    let losing = true
    const made = await service([old('sub_1', ['request.approved'])], {
      loses: (method) => losing && method === 'POST',
      ...(masks && { masks }),
    })
    const answer = () => {
      losing = false
    }
    return { ...made, answer }
  }

  test('to a creation is looked for by the next run, which creates no second one', async () => {
    const { url, state, answer } = await lost()
    const cwd = folder()
    const apply = ['migrate', 'subscriptions', url, '--apply']
    const first = await runJson(apply, { cwd })
    expect(first.code).toBe(1)
    expect(first.records).toMatchObject([
      { type: 'unconfirmed', of: 'sub_1' },
      { type: 'error', code: 'SERVICE_SILENT' },
    ])
    expect(first.stderr).toContain('unknown whether a replacement for sub_1 was created')
    expect(readFileSync(journalOf(cwd), 'utf8')).not.toContain('secret')
    answer()
    const second = await runJson(apply, { cwd })
    expect(second.records[0]).toMatchObject({ did: 'created', replacement: 'new_1' })
    expect(state().map(([id]) => id)).toEqual(['sub_1', 'new_1'])
  })

  test('to a creation is found where the service hides secrets, too', async () => {
    const { url, state, answer } = await lost('later')
    const cwd = folder()
    const options = { cwd, env: { WEBHOOK_SECRET: 'what the receiver has' } }
    const apply = ['migrate', 'subscriptions', url, '--apply']
    expect(await run(apply, options)).toMatchObject({ code: 1 })
    answer()
    expect(await run(apply, options)).toMatchObject({ code: 0 })
    expect(state().map(([id]) => id)).toEqual(['sub_1', 'new_1'])
  })

  test('to a creation with a secret that the service drew is an error that names it', async () => {
    const { url, answer } = await lost('later')
    const cwd = folder()
    const apply = ['migrate', 'subscriptions', url, '--apply', '--new-secrets', 'new.json']
    await run(apply, { cwd })
    answer()
    expect(await run(apply, { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('delete new_1, then run this again'),
    })
  })

  test('to a creation is undone by a rollback', async () => {
    const { url, state, answer } = await lost()
    const cwd = folder()
    const args = ['migrate', 'subscriptions', url]
    await run([...args, '--apply'], { cwd })
    answer()
    const back = await runJson([...args, '--rollback'], { cwd })
    expect(back.records[0]).toMatchObject({ type: 'step', id: 'new_1', did: 'removed' })
    expect(state().map(([id]) => id)).toEqual(['sub_1'])
    expect(existsSync(journalOf(cwd))).toBe(false)
  })

  test('to a deletion is settled by what the service lists afterwards', async () => {
    let losing = false
    const made = await service([old('sub_1', ['request.approved'])], {
      loses: (method) => losing && method === 'DELETE',
    })
    const cwd = folder()
    const args = ['migrate', 'subscriptions', made.url]
    await run([...args, '--apply'], { cwd })
    made.deliver('new_1')
    losing = true
    expect(await run([...args, '--apply'], { cwd })).toMatchObject({ code: 1 })
    losing = false
    expect(made.state().map(([id]) => id)).toEqual(['new_1'])
    const again = await run([...args, '--apply'], { cwd })
    expect(again).toMatchObject({ code: 0, stderr: 'nothing to do\n' })
    expect(await run([...args, '--rollback'], { cwd })).toMatchObject({ code: 0 })
    expect(made.state()).toEqual([['new_2', 'request.approved', 'secret-of-sub_1']])
  })
})

describe('a response to a rollback that restores what was deleted', () => {
  const deleted = async (masks?: 'later', rows = [old('sub_1', ['request.approved'])]) => {
    let losing = false
    const made = await service(rows, {
      loses: (method) => losing && method === 'POST',
      ...(masks && { masks }),
    })
    const options = { cwd: folder(), env: { WEBHOOK_SECRET: 'what the receiver has' } }
    const step = (flag: string, more: readonly string[] = []) =>
      runJson(['migrate', 'subscriptions', made.url, flag, ...more], options)
    await step('--apply')
    for (const { id } of [...made.rows]) if (id.startsWith('new')) made.deliver(id)
    await step('--apply')
    losing = true
    const first = await step('--rollback')
    losing = false
    expect(first.code).toBe(1)
    return { ...made, ...options, step, first }
  }
  const ids = ({ state }: { state: () => unknown[][] }) => state().map(([id]) => id)

  test('is looked for by the next one, which restores it no second time', async () => {
    const made = await deleted()
    expect(made.first.records[0]).toMatchObject({ type: 'unconfirmed', of: 'sub_1' })
    expect(made.first.stderr).toContain('unknown whether sub_1 was restored')
    expect(ids(made)).toEqual(['new_1', 'new_2'])
    const { code, records } = await made.step('--rollback')
    expect(code).toBe(0)
    expect(records).toMatchObject([
      { id: 'sub_1', did: 'restored', replacement: 'new_2', secret: 'same' },
      { id: 'new_1', did: 'removed' },
      { type: 'summary', steps: 2 },
    ])
    expect(made.state()).toEqual([['new_2', 'request.approved', 'secret-of-sub_1']])
    expect(existsSync(journalOf(made.cwd))).toBe(false)
  })

  test('is found by a run that migrates again, too', async () => {
    const made = await deleted()
    await made.step('--apply')
    expect(ids(made)).toEqual(['new_1'])
    expect(JSON.parse(readFileSync(journalOf(made.cwd), 'utf8')).pairs).toMatchObject([
      { old: { id: 'new_2' }, replacement: 'new_1', alone: true },
    ])
  })

  test('is not taken for an equal subscription of before where secrets are hidden', async () => {
    const equal = old('equal', ['request.approved'], false)
    const made = await deleted('later', [old('sub_1', ['request.approved']), equal])
    equal.active = true
    made.rows.splice(
      made.rows.findIndex(({ id }) => id === 'new_2'),
      1,
    )
    const { records } = await made.step('--rollback')
    expect(records[0]).toMatchObject({ id: 'sub_1', did: 'restored', replacement: 'new_3' })
  })

  test('with a secret that the service drew is an error that names it', async () => {
    const cwd = folder()
    let losing = false
    const made = await service([old('sub_1', ['request.approved'])], {
      loses: (method) => losing && method === 'POST',
      masks: 'later',
    })
    const args = ['migrate', 'subscriptions', made.url, '--new-secrets', 'new.json']
    await run([...args, '--apply'], { cwd })
    made.deliver('new_1')
    await run([...args, '--apply'], { cwd })
    losing = true
    await run([...args, '--rollback'], { cwd })
    losing = false
    const lost = await run([...args, '--rollback'], { cwd })
    expect(lost).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('delete new_2, then run this again'),
    })
    made.rows.splice(
      made.rows.findIndex(({ id }) => id === 'new_2'),
      1,
    )
    expect(await run([...args, '--rollback'], { cwd })).toMatchObject({ code: 0 })
    expect(ids(made)).toEqual(['new_3'])
  })
})

test('a creation that a rollback was refused is not looked for', async () => {
  let refusing = false
  const made = await service([old('sub_1', ['request.approved'])], {
    refuses: (method) => refusing && method === 'POST',
  })
  const cwd = folder()
  const args = ['migrate', 'subscriptions', made.url]
  await run([...args, '--apply'], { cwd })
  made.deliver('new_1')
  await run([...args, '--apply'], { cwd })
  const before = readFileSync(journalOf(cwd), 'utf8')
  refusing = true
  expect(await run([...args, '--rollback'], { cwd })).toMatchObject({ code: 1 })
  expect(readFileSync(journalOf(cwd), 'utf8')).toBe(before)
})

describe('Ctrl-C', () => {
  test('completes the change in progress, takes no other, and a rollback undoes it', async () => {
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
    const args = ['migrate', 'subscriptions', made.url]
    const { child, ended } = start([...args, '--apply'], { cwd })
    await begun
    child.kill('SIGINT')
    // Longer than any other command waits before it ends.
    await new Promise((resolve) => setTimeout(resolve, 3500))
    expect(child.exitCode).toBe(null)
    letGo()
    const ran = await ended
    expect(ran.code).toBe(130)
    expect(made.state().map(([id]) => id)).toEqual(['sub_1', 'sub_2', 'sub_3', 'new_1'])
    expect(ran.stderr).toContain('interrupted after 1 step: run this again to continue')
    await run([...args, '--rollback'], { cwd })
    expect(made.state()).toEqual(before)
  })
})

test('two hidden secrets are not taken for the same', async () => {
  const rows = [
    old('sub_1', ['request.approved']),
    { ...old('equal', ['verification.approved']), secret: 'another' },
  ]
  const { url } = await service(rows, { masks: 'later' })
  const { records } = await runJson(['migrate', 'subscriptions', url, '--apply'], {
    cwd: folder(),
    env: { WEBHOOK_SECRET: 'what the receiver has' },
  })
  expect(records[0]).toMatchObject({ did: 'created', replacement: 'new_1', secret: 'given' })
})

test('a rate-limited request is repeated when the service allows, and a refusal shows its message', async () => {
  let asked = 0
  const url = await serve((_, response) => {
    asked += 1
    if (asked === 1) response.writeHead(429, { 'retry-after': '0' }).end('{}')
    else response.writeHead(403).end('{"code":"FORBIDDEN","message":"not with this key"}')
  }, '')
  const ran = await run(['migrate', 'subscriptions', url])
  expect(ran).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('responded 403: not with this key'),
  })
  expect(asked).toBe(2)
})
