import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { folder, run, runJson, transcript } from './run.ts'
import { mixed, old, service } from './subscription-service.ts'

describe('the plan', () => {
  const rows = [
    ...mixed(),
    old('sub_4', ['request.approved', 'verification.*']),
    old('sub_5', ['request.expired'], false),
    old('sub_6', ['request.unheard']),
  ]

  test('names for each what replaces it, and in which order', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'export.json'), JSON.stringify({ data: rows }))
    const args = ['migrate', 'subscriptions', 'export.json']
    const ran = await run(args, { cwd })
    await expect(transcript(args, ran)).toMatchFileSnapshot('transcripts/migrate-subscriptions.txt')
    expect(ran.code).toBe(0)
    expect(ran.stdout + ran.stderr).not.toContain('secret-of')
  })

  test('is the same from a service, which it does not change', async () => {
    const { url, asked } = await service([...rows])
    const { records } = await runJson(['migrate', 'subscriptions', url])
    expect(records.filter(({ type }) => type === 'plan')).toMatchObject([
      {
        id: 'sub_1',
        action: 'recreate',
        beside: ['verification.approved'],
        final: ['verification.approved', 'client.created'],
      },
      { id: 'sub_2', action: 'recreate', beside: ['verification.*'] },
      { id: 'sub_3', action: 'current', steps: [] },
      { id: 'sub_4', action: 'covered', final: ['verification.approved', 'verification.*'] },
      { id: 'sub_5', action: 'inactive' },
      { id: 'sub_6', action: 'current', doubtful: ['request.unheard'] },
    ])
    expect(asked).toEqual([])
  })

  test('shows no user and password of an address', async () => {
    const url = 'https://hook:pa55@app.test/webhooks'
    const input = JSON.stringify([{ ...old('sub_1', ['request.approved']), url }])
    for (const more of [[], ['--json']]) {
      const { code, stdout, stderr } = await run(['migrate', 'subscriptions', '-', ...more], {
        input,
      })
      expect(code).toBe(0)
      expect(stdout).toContain('https://***@app.test/webhooks')
      expect(stdout + stderr).not.toMatch(/pa55|hook:/)
    }
  })

  test.each([
    ['no list', '{"x":1}'],
    ['no JSON', '{'],
    ['no filters', '[{"id":"a","url":"b"}]'],
  ])('of an export with %s is an error', async (_, content) => {
    const { code, stderr } = await run(['migrate', 'subscriptions', '-'], { input: content })
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: /)
  })
})

describe('--apply', () => {
  test('creates beside, waits for a delivery, then widens and drops', async () => {
    const cwd = folder()
    const { url, state, deliver, asked } = await service(mixed())
    const apply = ['migrate', 'subscriptions', url, '--apply']
    const first = await run(apply, { cwd })
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('run this again') })
    expect(state()).toEqual([
      ['sub_1', 'request.approved,client.created', 'secret-of-sub_1'],
      ['sub_2', 'request.*', 'secret-of-sub_2'],
      ['sub_3', '*', 'secret-of-sub_3'],
      ['new_1', 'verification.approved', 'secret-of-sub_1'],
      ['new_2', 'verification.*', 'secret-of-sub_2'],
    ])

    const early = await run(apply, { cwd })
    expect(early).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('delivered nothing yet'),
    })
    expect(state().length).toBe(5)

    deliver('new_1')
    const second = await runJson(apply, { cwd })
    expect(second.records.filter(({ type }) => type === 'step')).toMatchObject([
      { id: 'sub_1', did: 'dropped', replacement: 'new_1' },
      { id: 'sub_2', did: 'waiting', replacement: 'new_2' },
    ])
    expect(second.code).toBe(1)
    deliver('new_2')
    expect(await run(apply, { cwd })).toMatchObject({ code: 0 })
    expect(state()).toEqual([
      ['sub_3', '*', 'secret-of-sub_3'],
      ['new_1', 'verification.approved,client.created', 'secret-of-sub_1'],
      ['new_2', 'verification.*', 'secret-of-sub_2'],
    ])
    const widened = asked.indexOf('PATCH /subscriptions/new_1')
    expect(widened).toBeLessThan(asked.indexOf('DELETE /subscriptions/sub_1'))
    expect(await run(apply, { cwd })).toMatchObject({ code: 0, stderr: 'nothing to do\n' })
  })

  test('keeps a journal without any secret', async () => {
    const cwd = folder()
    const { url } = await service(mixed())
    await run(['migrate', 'subscriptions', url, '--apply'], { cwd })
    const journal = readFileSync(join(cwd, 'idv-webhooks.subscriptions.json'), 'utf8')
    expect(journal).toContain('sub_1')
    expect(journal).not.toContain('secret')
  })

  test('stops when a step fails, and the next run continues where it stopped', async () => {
    const cwd = folder()
    let failing = true
    const made = await service(mixed(), {
      failOn: (method) => failing && method === 'POST' && made.rows.length === 4,
    })
    const args = ['migrate', 'subscriptions', made.url]
    const ran = await run([...args, '--apply'], { cwd })
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('responded 500') })
    expect(ran.stderr).toContain('failed after 1 step: run this again to continue')
    failing = false
    const second = await runJson([...args, '--apply'], { cwd })
    expect(second.records.filter(({ type }) => type === 'step')).toMatchObject([
      { id: 'sub_1', did: 'waiting', replacement: 'new_1' },
      { id: 'sub_2', did: 'created', replacement: 'new_2' },
    ])
    expect(made.state().map(([id]) => id)).toEqual(['sub_1', 'sub_2', 'sub_3', 'new_1', 'new_2'])
  })

  test('undoes a run that failed with --rollback', async () => {
    const cwd = folder()
    const rows = mixed()
    const before = structuredClone(rows)
    const { url } = await service(rows, {
      failOn: (method) => method === 'POST' && rows.length === 4,
    })
    const args = ['migrate', 'subscriptions', url]
    expect(await run([...args, '--apply'], { cwd })).toMatchObject({ code: 1 })
    expect(await run([...args, '--rollback'], { cwd })).toMatchObject({ code: 0 })
    expect(rows).toEqual(before)
    expect(existsSync(join(cwd, 'idv-webhooks.subscriptions.json'))).toBe(false)
  })

  test('deletes what is left when one deletion failed', async () => {
    const cwd = folder()
    let failing = true
    const rows = [old('sub_1', ['request.approved']), old('sub_2', ['request.*'])]
    const made = await service(rows, {
      failOn: (method, path) => failing && method === 'DELETE' && path.endsWith('sub_2'),
    })
    const apply = ['migrate', 'subscriptions', made.url, '--apply']
    await run(apply, { cwd })
    made.deliver('new_1')
    made.deliver('new_2')
    expect(await run(apply, { cwd })).toMatchObject({ code: 1 })
    expect(made.state().map(([id]) => id)).toEqual(['sub_2', 'new_1', 'new_2'])
    failing = false
    expect(await run(apply, { cwd })).toMatchObject({ code: 0 })
    expect(made.state().map(([id]) => id)).toEqual(['new_1', 'new_2'])
  })

  test('uses an equivalent subscription that exists already, in a run of its own', async () => {
    const cwd = folder()
    const rows = [
      old('sub_1', ['request.approved']),
      { ...old('equal', ['verification.approved']), secret: 'secret-of-sub_1' },
    ]
    const { url, state, deliver, asked } = await service(rows)
    const apply = ['migrate', 'subscriptions', url, '--apply']
    const first = await runJson(apply, { cwd })
    expect(first.records[0]).toMatchObject({ id: 'sub_1', did: 'found', replacement: 'equal' })
    expect(await run(apply, { cwd })).toMatchObject({ code: 1 })
    expect(asked).toEqual([])
    deliver('equal')
    expect(await run(apply, { cwd })).toMatchObject({ code: 0 })
    expect(state().map(([id]) => id)).toEqual(['equal'])
  })

  test('finds its own replacement again when the journal is lost', async () => {
    const { url, state } = await service([old('sub_1', ['request.approved'])])
    const apply = ['migrate', 'subscriptions', url, '--apply']
    await run(apply, { cwd: folder() })
    expect(await run(apply, { cwd: folder() })).toMatchObject({ code: 0 })
    expect(state().map(([id]) => id)).toEqual(['sub_1', 'new_1'])
  })

  test.each([
    ['of another organization', { organizationId: 'org_2', secret: 'secret-of-sub_1' }],
    ['with another secret', { organizationId: 'org_1' }],
    ['at another address', { organizationId: 'org_1', url: 'https://b.test' }],
  ])('leaves alone one %s', async (_, differs) => {
    const rows = [
      { ...old('sub_1', ['request.approved']), organizationId: 'org_1' },
      { ...old('foreign', ['verification.approved']), ...differs },
    ]
    const { url, deliver, asked, state } = await service(rows)
    const cwd = folder()
    deliver('foreign')
    const { records } = await runJson(['migrate', 'subscriptions', url, '--apply'], { cwd })
    expect(records[0]).toMatchObject({ id: 'sub_1', did: 'created', replacement: 'new_1' })
    expect(rows.at(-1)).toMatchObject({ id: 'new_1', organizationId: 'org_1' })
    await run(['migrate', 'subscriptions', url, '--rollback'], { cwd })
    expect(state().map(([id]) => id)).toEqual(['sub_1', 'foreign'])
    expect(asked.filter((one) => one.includes('foreign'))).toEqual([])
  })

  test('hands on what else a subscription has', async () => {
    const own = {
      ...old('sub_1', ['request.approved']),
      organizationId: 'org_1',
      createdAt: 'then',
    }
    const { url, rows } = await service([own])
    await run(['migrate', 'subscriptions', url, '--apply'], { cwd: folder() })
    expect(rows[1]).toMatchObject({ id: 'new_1', organizationId: 'org_1' })
    expect(rows[1]).not.toHaveProperty('createdAt')
  })

  test('takes legacy names out of one that has the current ones', async () => {
    const { url, state } = await service([old('sub_1', ['request.approved', 'verification.*'])])
    await run(['migrate', 'subscriptions', url, '--apply'], { cwd: folder() })
    expect(state()).toEqual([['sub_1', 'verification.approved,verification.*', 'secret-of-sub_1']])
  })
})

describe('--rollback', () => {
  test.each([
    ['while both run', false],
    ['after the old one is gone', true],
  ])('brings everything back, secrets too: %s', async (_, dropped) => {
    const cwd = folder()
    const { url, state, deliver } = await service(mixed())
    const before = state().map(([, events, secret]) => [events, secret])
    const apply = ['migrate', 'subscriptions', url, '--apply']
    await run(apply, { cwd })
    if (dropped) {
      deliver('new_1')
      deliver('new_2')
      await run(apply, { cwd })
    }
    expect(await run(['migrate', 'subscriptions', url, '--rollback'], { cwd })).toMatchObject({
      code: 0,
    })
    const after = state().map(([, events, secret]) => [events, secret])
    expect(after.sort()).toEqual(before.sort())
    expect(existsSync(join(cwd, 'idv-webhooks.subscriptions.json'))).toBe(false)
  })

  test.each([
    ['while both run', false],
    ['after the old one is gone', true],
  ])('keeps a replacement that existed before, with its filters: %s', async (_, dropped) => {
    const cwd = folder()
    const rows = [
      old('sub_1', ['request.approved', 'client.created']),
      { ...old('equal', ['verification.approved']), secret: 'secret-of-sub_1' },
    ]
    const { url, state, deliver } = await service(rows)
    const apply = ['migrate', 'subscriptions', url, '--apply']
    await run(apply, { cwd })
    if (dropped) {
      deliver('equal')
      await run(apply, { cwd })
      expect(state()).toEqual([
        ['equal', 'verification.approved,client.created', 'secret-of-sub_1'],
      ])
    }
    const back = await run(['migrate', 'subscriptions', url, '--rollback'], { cwd })
    expect(back).toMatchObject({ code: 0, stdout: expect.stringContaining('it existed before') })
    expect(state().sort()).toEqual([
      ['equal', 'verification.approved', 'secret-of-sub_1'],
      [dropped ? 'new_1' : 'sub_1', 'request.approved,client.created', 'secret-of-sub_1'],
    ])
  })

  test('without a journal is an error that names the missing file', async () => {
    const cwd = folder()
    const { url, asked } = await service(mixed())
    const ran = await run(['migrate', 'subscriptions', url, '--rollback'], { cwd })
    expect(ran.code).toBe(2)
    expect(ran.stderr).toContain(join(cwd, 'idv-webhooks.subscriptions.json'))
    expect(asked).toEqual([])
  })
})

describe('a service that masks secrets', () => {
  const masked = () => service([old('sub_1', ['request.approved'])], { masks: 'later' })

  test('gets nothing created while nobody knows the secret', async () => {
    const { url, asked } = await masked()
    const ran = await run(['migrate', 'subscriptions', url, '--apply'], { cwd: folder() })
    expect(ran.code).toBe(2)
    expect(ran.stderr).toMatch(/hides the secret of sub_1.*WEBHOOK_SECRET.*--new-secrets/s)
    expect(asked).toEqual([])
  })

  test('gets the secret that is given, at the rollback too', async () => {
    const { url, rows, deliver, state } = await masked()
    const cwd = folder()
    const env = { WEBHOOK_SECRET: 'what the receiver has' }
    const apply = ['migrate', 'subscriptions', url, '--apply']
    const ran = await run(apply, { cwd, env })
    expect(rows[1]).toMatchObject({ id: 'new_1', secret: 'what the receiver has' })
    expect(ran.stderr).toContain('new_1 signs with the secret that you provided')
    expect(ran.stdout + ran.stderr).not.toContain('what the receiver has')
    deliver('new_1')
    await run(apply, { cwd, env })
    const back = ['migrate', 'subscriptions', url, '--rollback']
    expect(await run(back, { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('WEBHOOK_SECRET'),
    })
    expect(state()).toEqual([['new_1', 'verification.approved', 'what the receiver has']])
    await run(back, { cwd, env })
    expect(state()).toEqual([['new_2', 'request.approved', 'what the receiver has']])
  })

  test('gets the secret that is called by the id, where they differ', async () => {
    const rows = [old('sub_1', ['request.approved']), old('sub_2', ['request.*'])]
    const { url } = await service(rows, { masks: 'always' })
    const input = JSON.stringify([
      { id: 'sub_1', value: 'one' },
      { id: 'sub_2', value: 'two' },
    ])
    const apply = ['migrate', 'subscriptions', url, '--apply', '--secret-file', '-']
    await run(apply, { cwd: folder(), input })
    expect(rows.slice(2).map(({ secret }) => secret)).toEqual(['one', 'two'])
  })

  test('has the secret that it draws kept in a file for the receiver', async () => {
    const { url } = await masked()
    const cwd = folder()
    const args = ['migrate', 'subscriptions', url]
    const ran = await run([...args, '--apply', '--new-secrets', 'new.json'], { cwd })
    expect(ran.stderr).toContain('a new secret, saved in new.json: add it to the receiver')
    expect(ran.stdout + ran.stderr).not.toContain('secret-of')
    const file = join(cwd, 'new.json')
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([
      { id: 'new_1', value: 'secret-of-new_1' },
    ])
    expect(statSync(file).mode & 0o077).toBe(0)
    await run([...args, '--rollback', '--new-secrets', 'new.json'], { cwd })
    expect(existsSync(file)).toBe(false)
  })

  test('that never shows what it draws keeps no subscription of ours', async () => {
    const { url, rows } = await service([old('sub_1', ['request.approved'])], { masks: 'always' })
    const args = ['migrate', 'subscriptions', url, '--apply', '--new-secrets', 'new.json']
    const ran = await run(args, { cwd: folder() })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('does not show it') })
    expect(rows.length).toBe(1)
  })
})
