import { createReceiver } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { describe, expect, onTestFinished, test } from 'vitest'
import { serve } from './apps.ts'
import { folder, run, runJson } from './run.ts'
import { type DeliveryRow, old, service } from './subscription-service.ts'

type Options = Parameters<typeof service>[1]

/** A service on which the replacement of an old subscription has delivered. */
async function overlapping(options: Options = {}, events = ['request.approved', 'client.created']) {
  const made = await service([old('sub_1', events)], options)
  const cwd = folder()
  const args = ['migrate', 'subscriptions', made.url]
  await run([...args, '--apply'], { cwd })
  made.deliver('new_1')
  const apply = () => runJson([...args, '--apply'], { cwd })
  const rollback = () => runJson([...args, '--rollback'], { cwd })
  return { ...made, cwd, args, apply, rollback }
}

const both = [
  ['sub_1', 'request.approved,client.created', 'secret-of-sub_1'],
  ['new_1', 'verification.approved', 'secret-of-sub_1'],
]

describe('an old subscription', () => {
  test.each(['pending', 'held'])('stays while deliveries of it are %s', async (status) => {
    const { apply, args, asked, cwd, deliver, state } = await overlapping()
    const waiting = [deliver('sub_1', status), deliver('sub_1', status)]
    deliver('sub_1', 'failed')
    deliver('sub_1', 'dropped')
    const early = await apply()
    expect(early.code).toBe(1)
    expect(early.records).toMatchObject([
      { type: 'step', id: 'sub_1', did: 'waiting', replacement: 'new_1', undelivered: 2 },
      { type: 'summary', steps: 1, waiting: 1 },
    ])
    expect(state()).toEqual(both)
    expect(asked.filter((one) => one.startsWith('PATCH'))).toEqual([])
    const text = await run([...args, '--apply'], { cwd })
    expect(text.stdout).toBe(
      'sub_1  not deleted: 2 deliveries of it are still being retried: run this again later (new_1)\n',
    )

    for (const one of waiting) one.status = 'failed'
    const later = await apply()
    expect(later).toMatchObject({ code: 0, records: [{ did: 'dropped' }, { waiting: 0 }] })
    expect(state()).toEqual([['new_1', 'verification.approved,client.created', 'secret-of-sub_1']])
  })

  test('is deleted once its first attempts have ended, though new ones begin', async () => {
    let asked = 0
    const made = await overlapping({
      deliveries(all) {
        asked += 1
        // The replacement delivers; then two lists of the old one, and two after the widening.
        if (asked === 8) first.status = 'delivered'
        if (asked > 5) made.deliver('sub_1', 'pending', [])
        return [200, { data: all }]
      },
    })
    const first = made.deliver('sub_1', 'pending', [])
    expect(await made.apply()).toMatchObject({ code: 0, records: [{ did: 'dropped' }, {}] })
    expect(made.state().map(([id]) => id)).toEqual(['new_1'])
  })

  test('stays when a first attempt fails or hangs, and its replacement is as before', async () => {
    const made = await overlapping({
      deliveries: (all) => [200, { data: all.map(({ attempts: _, ...one }) => one) }],
    })
    const hanging = made.deliver('sub_1', 'pending', [])
    const early = await made.apply()
    expect(early).toMatchObject({ code: 1, records: [{ did: 'waiting', undelivered: 1 }, {}] })
    expect(made.state()).toEqual(both)
    hanging.status = 'delivered'
    expect(await made.apply()).toMatchObject({ code: 0, records: [{ did: 'dropped' }, {}] })
  })

  test('stays while a later page has such a delivery', async () => {
    const pages = (all: readonly DeliveryRow[], query: URLSearchParams): [number, unknown] => {
      const page = Number(query.get('page') ?? 1)
      const data = all.slice(page - 1, page)
      return [200, { data, pagination: { hasNext: page < all.length } }]
    }
    const { apply, deliver } = await overlapping({ deliveries: pages })
    for (let made = 0; made < 3; made += 1) deliver('sub_1', made === 2 ? 'pending' : 'failed')
    expect(await apply()).toMatchObject({ code: 1, records: [{ undelivered: 1 }, {}] })
  })

  test.each([
    [
      'refuses the filter',
      (asked: string | null): [number, unknown] => [
        asked === 'delivered' ? 200 : 422,
        { data: [{ id: 'dlv', subscriptionId: 'new_1', status: 'delivered' }] },
      ],
    ],
    [
      'announces pages without an end',
      (): [number, unknown] => [
        200,
        {
          data: [{ id: 'dlv', subscriptionId: 'new_1', status: 'delivered' }],
          pagination: { hasNext: true },
        },
      ],
    ],
  ])('is deleted as before where a service %s', async (_, answer) => {
    const { apply, state } = await overlapping({
      deliveries: (_, query) => answer(query.get('status')),
    })
    expect(await apply()).toMatchObject({ code: 0, records: [{ did: 'dropped' }, {}] })
    expect(state().map(([id]) => id)).toEqual(['new_1'])
  })

  test('stays where the service fails when it is asked', async () => {
    const { apply, state } = await overlapping({
      deliveries: (data, query) => [query.get('status') === 'pending' ? 500 : 200, { data }],
    })
    expect(await apply()).toMatchObject({ code: 1, records: [{ code: 'SERVICE_FAILED' }] })
    expect(state()).toEqual(both)
  })

  test('that somebody made inactive is named with what it holds and the way out', async () => {
    const { apply, args, cwd, deliver, rows } = await overlapping()
    if (rows[0]) rows[0].active = false
    expect(await apply()).toMatchObject({ code: 0 })
    deliver('sub_1', 'held')
    expect(await apply()).toMatchObject({
      code: 1,
      records: [{ id: 'sub_1', did: 'waiting', undelivered: 1, inactive: true }, { waiting: 1 }],
    })
    const { stdout } = await run([...args, '--apply'], { cwd })
    expect(stdout).toBe(
      'sub_1  not deleted: 1 delivery of it would be lost, because it is inactive: activate it, then run this again (new_1)\n',
    )
    expect(rows.length).toBe(2)
  })
})

describe('--rollback', () => {
  test('keeps the replacement of a deleted one while its deliveries are being retried', async () => {
    const { apply, deliver, rollback, rows, state } = await overlapping()
    await apply()
    const waiting = deliver('new_1', 'pending')
    const early = await rollback()
    expect(early.code).toBe(1)
    expect(early.records).toMatchObject([
      { id: 'sub_1', did: 'restored', replacement: 'new_2' },
      { id: 'new_1', did: 'waiting', undelivered: 1 },
      { type: 'summary', waiting: 1 },
    ])
    const [, restored] = both
    expect(state()).toEqual([restored, ['new_2', both[0]?.[1], 'secret-of-sub_1']])
    expect(await rollback()).toMatchObject({ code: 1, records: [{ did: 'waiting' }, {}] })
    if (rows[0]) rows[0].active = false
    expect(await rollback()).toMatchObject({ code: 1, records: [{ inactive: true }, {}] })

    waiting.status = 'delivered'
    expect(await rollback()).toMatchObject({ code: 0, records: [{ did: 'removed' }, {}] })
    expect(state().map(([id]) => id)).toEqual(['new_2'])
  })

  test('is not kept waiting by a replacement that always ran beside the old one', async () => {
    const { deliver, rollback, state } = await overlapping()
    deliver('new_1', 'pending')
    expect(await rollback()).toMatchObject({ code: 0, records: [{ did: 'removed' }, {}] })
    expect(state().map(([id]) => id)).toEqual(['sub_1'])
  })
})

test('no event is lost when an app fails between two runs', async () => {
  const secret = 'a-secret-of-the-team'
  const handled = new Set<string>()
  const receiver = createReceiver({ secret })
  receiver.on('*', ({ entity, name }) => void handled.add(`${name} ${entity?.id}`))
  const app = toNode(receiver)
  let isDown = false
  const url = await serve((request, response) => {
    if (isDown) response.writeHead(503).end()
    else app(request, response)
  })
  const events = ['request.approved', 'client.created']
  const sandbox = await createSandbox({ seed: 1, subscriptions: [{ url, events, secret }] })
  onTestFinished(() => sandbox.close())
  const { url: address } = await sandbox.listen()
  const post = async (path: string, body: object) => {
    const headers = { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await sandbox.fetch(new Request(`${sandbox.baseUrl}${path}`, init))
    return ((await response.json()) as { id: string }).id
  }
  const happen = async () => {
    const id = await post('/verifications', { type: 'idv', requirements: ['document'] })
    await sandbox.act(id, ['start', 'submit', 'approve'])
    const client = await post('/clients', { nameFirst: 'Ada' })
    await sandbox.flush()
    return [`verification.approved ${id}`, `client.created ${client}`]
  }
  const cwd = folder()
  const apply = () => runJson(['migrate', 'subscriptions', address, '--apply'], { cwd })

  await apply()
  const expected = await happen()
  isDown = true
  expected.push(...(await happen()))
  isDown = false
  expect(await apply()).toMatchObject({
    code: 1,
    records: [{ did: 'waiting', undelivered: 2 }, {}],
  })
  await sandbox.clock.advance({ seconds: 10 })
  expect(await apply()).toMatchObject({ code: 0, records: [{ did: 'dropped' }, {}] })
  expected.push(...(await happen()))
  expect([...handled].sort()).toEqual(expected.sort())
})
