import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { serve } from './apps.ts'
import { folder, run, runJson, transcript } from './run.ts'

interface Row {
  id: string
  url: string
  events: string[]
  secret: string
  active: boolean
}

const hook = 'https://app.example.com/hooks'
const old = (id: string, events: string[], active = true): Row => ({
  id,
  url: hook,
  events,
  secret: `secret-of-${id}`,
  active,
})

/** The subscription routes, over a real server: what the tool speaks to. */
async function service(
  rows: Row[],
  options: { failOn?: (method: string, path: string) => boolean; masks?: boolean } = {},
) {
  const asked: string[] = []
  const delivered: { subscriptionId: string; status: string }[] = []
  let made = 0
  const url = await serve(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://a.test')
    const method = request.method ?? ''
    const path = pathname.replace('/_sandbox', '')
    const id = path.split('/')[2]
    const body = text === '' ? {} : (JSON.parse(text) as Partial<Row>)
    const row = rows.find((one) => one.id === id)
    const reply = (status: number, json: unknown) =>
      response.writeHead(status).end(JSON.stringify(json))
    const mask = (one: Row) =>
      searchParams.get('reveal') && !options.masks ? one : { ...one, secret: 'sec…***' }
    if (method !== 'GET') asked.push(`${method} ${path}`)
    if (options.failOn?.(method, path)) return reply(500, { code: 'BROKEN' })
    if (path === '/deliveries') return reply(200, { data: delivered })
    if (path === '/subscriptions' && method === 'GET') return reply(200, { data: rows.map(mask) })
    if (path === '/subscriptions') {
      made += 1
      rows.push({ ...old(`new_${made}`, []), ...body })
      return reply(201, rows.at(-1))
    }
    if (!row) return reply(404, { code: 'NOT_FOUND' })
    if (method === 'PATCH') Object.assign(row, body)
    if (method === 'DELETE') rows.splice(rows.indexOf(row), 1)
    return reply(200, mask(row))
  }, '')
  const deliver = (subscriptionId: string) =>
    delivered.push({ subscriptionId, status: 'delivered' })
  const state = () => rows.map(({ id, events, secret }) => [id, events.join(), secret])
  return { url, rows, asked, deliver, state }
}

const mixed = () => [
  old('sub_1', ['request.approved', 'client.created']),
  old('sub_2', ['request.*']),
  old('sub_3', ['*']),
]

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
    expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('call this again') })
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

  test('takes its own steps back when one fails', async () => {
    const cwd = folder()
    const rows = mixed()
    const before = structuredClone(rows)
    let creations = 0
    const { url } = await service(rows, {
      failOn: (method) => method === 'POST' && ++creations === 2,
    })
    const ran = await run(['migrate', 'subscriptions', url, '--apply'], { cwd })
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('answered 500') })
    expect(rows).toEqual(before)
    expect(existsSync(join(cwd, 'idv-webhooks.subscriptions.json'))).toBe(false)
  })

  test('finds a replacement that is already there', async () => {
    const rows = [old('sub_1', ['request.approved']), old('other', ['verification.approved'])]
    const { url, state, deliver } = await service(rows)
    deliver('other')
    await run(['migrate', 'subscriptions', url, '--apply'], { cwd: folder() })
    expect(state().map(([id]) => id)).toEqual(['other'])
  })

  test('never passes on a secret that is only shown masked', async () => {
    const { url, rows } = await service([old('sub_1', ['request.approved'])], { masks: true })
    await run(['migrate', 'subscriptions', url, '--apply'], { cwd: folder() })
    expect(rows[1]).toMatchObject({ id: 'new_1', secret: 'secret-of-new_1' })
  })

  test('hands on what else a subscription has', async () => {
    const own = {
      ...old('sub_1', ['request.approved']),
      organisationId: 'org_1',
      createdAt: 'then',
    }
    const { url, rows } = await service([own])
    await run(['migrate', 'subscriptions', url, '--apply'], { cwd: folder() })
    expect(rows[1]).toMatchObject({ id: 'new_1', organisationId: 'org_1' })
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
})
