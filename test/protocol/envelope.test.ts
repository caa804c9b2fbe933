import { createReceiver, schemes, sign } from 'idv-webhooks'
import { cloudEvents } from 'idv-webhooks/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { envelopeReader, ownEnvelope } from '../../src/protocol/envelope.ts'
import type { EnvelopeFunction } from '../../src/protocol/envelope-function.ts'
import { parseTime } from '../../src/protocol/json-paths.ts'

const secret = 'an-envelope-secret'
const bytesOf = (body: object | string) =>
  new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))

type Options = Omit<Parameters<typeof createReceiver>[0], 'secret'>

/** What a receiver with these options makes of one delivery: its event, and the key of its handler. */
async function received(
  options: Options,
  body: object | string,
  headers: Record<string, string> = {},
) {
  let key = ''
  const receiver = createReceiver({ secret, ...options })
  receiver.on('*', (_, context) => {
    key = context.idempotencyKey
  })
  const bytes = bytesOf(body)
  const signed = await sign(bytes, { secret, ...(options.scheme && { scheme: options.scheme }) })
  const outcome = await receiver.receive({ body: bytes, headers: { ...headers, ...signed } })
  return { kind: outcome.kind, event: 'event' in outcome ? outcome.event : undefined, key }
}

test('a name may stand in a header, an id may not', async () => {
  const envelope = { name: 'header:X-GitHub-Event', data: 'record' }
  const { event } = await received(
    { envelope },
    { id: 'e1', record: { id: 'r' } },
    {
      'x-github-event': 'push',
    },
  )
  expect(event).toMatchObject({ name: 'push', id: 'e1', data: { id: 'r' } })
  expect(await received({ envelope }, { record: {} })).toMatchObject({ kind: 'rejected' })
  expect(() => createReceiver({ secret, envelope: { id: 'header:x-id' } })).toThrow(
    'id: { header }',
  )
})

test('a function sees headers and address, and an id that depends on them tells no duplicates', async () => {
  const seen: unknown[] = []
  const body = { id: 'body-id', type: 'client.created', data: { id: 'c' } }
  const fromHeader: Options['envelope'] = (_, { headers, url }) => {
    seen.push(url)
    return { name: 'client.created', id: headers.get('x-id') ?? '', data: { id: 'c' } }
  }
  const unsigned = await received({ envelope: fromHeader }, body, { 'x-id': 'made-up' })
  expect(unsigned.event?.id).toBe('made-up')
  expect(unsigned.key).toMatch(/^sha256=/)
  expect(seen).toContain(undefined)

  const fromBody: Options['envelope'] = (json, { headers }) => {
    const { id, type, data } = json as typeof body
    return { name: headers.get('x-name') ?? type, id: `${type}/${id}`, data }
  }
  const signed = await received({ envelope: fromBody }, body, { 'x-name': 'client.updated' })
  expect(signed.event?.name).toBe('client.updated')
  expect(signed.key).toBe('client.created/body-id')
})

test('a function reads the headers of a delivery that was kept with those of HTTP/2', async () => {
  const envelope: Options['envelope'] = (data, { headers }) => ({
    ...{ name: headers.get('x-name') ?? '', data },
  })
  const kept = { ':method': 'POST', ':path': '/', 'x-name': 'client.created' }
  expect((await received({ envelope }, { id: 'c' }, kept)).event?.name).toBe('client.created')
})

test('the mark of a reconciled event is not believed when somebody has sent it', async () => {
  const forged = ownEnvelope({ name: 'verification.approved', id: 'x', data: { id: 'ver_1' } })
  const envelope: Options['envelope'] = () => {
    throw new Error('a foreign issuer')
  }
  expect(await received({ envelope }, forged)).toMatchObject({ kind: 'rejected' })
  const reader = envelopeReader(envelope)
  expect(reader(forged, { headers: [] }, true)?.name).toBe('verification.approved')
})

test('a function may leave in the body what JSON does not have', async () => {
  const envelope = (...[body, { headers }]: Parameters<EnvelopeFunction>) => {
    const { id } = Object.assign(body as { id: string }, { size: 1n })
    return { name: headers.get('x-name') ?? 'client.created', id, data: { id } }
  }
  expect((await received({ envelope }, { id: 'a' })).key).toBe('a')
})

test('CloudEvents are read in structured mode, each id within its source', async () => {
  const body = {
    specversion: '1.0',
    id: '1',
    source: '/mycontext',
    type: 'client.created',
    time: '2026-04-05T17:31:00Z',
    data: { id: 'cli_1' },
  }
  const { event, key } = await received({ envelope: cloudEvents }, body)
  expect(event).toMatchObject({ name: 'client.created', id: '/mycontext#1', data: { id: 'cli_1' } })
  expect(event?.occurredAt?.toISOString()).toBe('2026-04-05T17:31:00.000Z')
  expect(key).toBe('/mycontext#1')
})

test.each([
  ['JSON', Buffer.from('{"id":"cli_1"}').toString('base64'), { id: 'cli_1' }],
  ['anything else', '/w==', '/w=='],
  ['what is no base64', 'a b', 'a b'],
])('CloudEvents with %s in data_base64 have it as their data', async (_, data_base64, data) => {
  const body = { specversion: '1.0', type: 'client.created', source: '/s', id: '1', data_base64 }
  const { event } = await received({ envelope: cloudEvents }, body)
  expect(event).toMatchObject({ name: 'client.created', data })
})

test('CloudEvents of two sources have two ids, wherever the sign between them stands', async () => {
  const idOf = async (source: string, id: string) => {
    const body = { specversion: '1.0', type: 'client.created', source, id }
    return (await received({ envelope: cloudEvents }, body)).key
  }
  const sources = ['/a', '/a#b', '/a%23b', '/a%2523b', '/a%252523b', '/a%25#b', '/a%20b']
  const ids = await Promise.all(sources.flatMap((one) => [idOf(one, 'b#c'), idOf(one, 'c')]))
  expect(new Set(ids)).toHaveLength(sources.length * 2)
  expect([ids[0], ids.at(-1)]).toEqual(['/a#b#c', '/a%20b#c'])
})

test('CloudEvents are read in binary mode, their id only where the scheme signs it', async () => {
  const headers = { 'ce-specversion': '1.0', 'ce-type': 'client.created', 'ce-id': 'A1' }
  const plain = await received({ envelope: cloudEvents }, { id: 'cli_1' }, headers)
  expect(plain.event).toMatchObject({ name: 'client.created', id: 'A1', data: { id: 'cli_1' } })
  expect(plain.key).toMatch(/^sha256=/)
  const scheme = schemes.define({
    ...schemes.service(),
    signed: '{id}.{body}',
    id: { header: 'ce-id' },
  })
  const signed = await received({ envelope: cloudEvents, scheme }, { id: 'cli_1' }, headers)
  expect(signed.key).toBe(signed.event?.id)
  expect(await received({ envelope: cloudEvents }, { id: 'cli_1' })).toMatchObject({
    kind: 'rejected',
  })
})

test('a body that is the resource has the time of its change, not of its creation', async () => {
  const record = {
    id: 'ver_1',
    createdAt: '2026-01-01T00:00:00Z',
    updatedAt: '2026-01-02T00:00:00Z',
  }
  const timeOf = async (more: object) => {
    const { event } = await received({}, { event: 'verification.submitted', ...record, ...more })
    expect(event?.data).toMatchObject(record)
    return event?.occurredAt?.toISOString()
  }
  expect(await timeOf({})).toBe('2026-01-02T00:00:00.000Z')
  expect(await timeOf({ timestamp: 1_767_400_000 })).toBe('2026-01-03T00:26:40.000Z')
})

test('a function may give ids as numbers, and an entity without an id of its own kind is refused', async () => {
  const through = (entity?: unknown) => ({
    envelope: (body: unknown) => {
      const { id } = body as { readonly id: number }
      return { name: 'client.created', id, data: {}, entity } as never
    },
  })
  expect(await received(through(), { id: 42 })).toMatchObject({ key: '42', event: { id: '42' } })
  const numbered = await received(through({ type: 'client', id: 7 }), { id: 42 })
  expect(numbered).toMatchObject({ event: { entity: { type: 'client', id: '7' } } })
  for (const entity of [{ type: 'client', id: {} }, { type: 5, id: 'a' }, { id: 'a' }]) {
    const refused = await received(through(entity), { id: 42 })
    expect(refused).toMatchObject({ kind: 'rejected' })
  }
})

test('a function that wants numbers gives no id that was rounded', async () => {
  const envelope = (body: unknown) => {
    const { id } = body as { readonly id: unknown }
    if (typeof id !== 'number') throw new TypeError('a number is wanted')
    return { name: 'client.created', id: String(id), data: {} }
  }
  const idOf = async (text: string) => (await received({ envelope }, text)).event?.id
  expect(await idOf('{"id":9007199254740993}')).toBeUndefined()
  expect(await idOf('{"id":9007199254740992}')).toBe('9007199254740992')
  expect(await idOf('{"id":42}')).toBe('42')
})

test.each<[string, Options['envelope']]>([
  [
    'throws',
    (body, { headers }) => {
      if (!headers.has('x-name')) throw new Error('no name')
      return read(body)
    },
  ],
  [
    'calls a method of it',
    (body, { headers }) => {
      headers.get('x-name')?.toLowerCase() ?? never()
      return read(body)
    },
  ],
  [
    'looks it up',
    (body, { headers }) => {
      if (headers.get('x-name') !== 'created') never()
      return read(body)
    },
  ],
  [
    'changes the body',
    (body, { headers }) => {
      headers.get('x-name')
      const reading = read(body)
      delete (body as { id?: string }).id
      return reading
    },
  ],
])(
  'a function that needs a header for the name, and %s, knows repeats by the id of the body',
  async (_, envelope) => {
    const body = { id: 'body-id', data: { id: 'c' } }
    const { key } = await received({ envelope }, body, { 'x-name': 'created' })
    expect(key).toBe('body-id')
    const inHeader = await received({ envelope }, body, { 'x-name': 'created', 'x-id': 'body-id' })
    expect(inHeader.key).toBe('body-id')
  },
)

test('a function sees no header that none may be, and all others', async () => {
  const envelope: Options['envelope'] = (data, { headers }) => ({
    ...{ name: headers.get('x-name') ?? '', data },
  })
  const headers = { 'x-city': 'Łódź', 'x-name': 'client.created' }
  expect((await received({ envelope }, { id: 'c' }, headers)).kind).toBe('handled')
})

test('an id of a header that the function cannot do without tells no duplicates', async () => {
  const envelope: Options['envelope'] = (_, { headers }) => {
    const id = headers.get('x-id')
    if (id !== 'made-up') throw new Error('no id')
    return { name: 'client.created', id, data: { id: 'c' } }
  }
  const { key } = await received({ envelope }, { note: 'made-up' }, { 'x-id': 'made-up' })
  expect(key).toMatch(/^sha256=/)
})

function read(body: unknown) {
  const { id, data } = body as { readonly id: string; readonly data: object }
  return { name: 'client.created', id, data }
}

function never(): never {
  throw new Error('without the header')
}

test.each(['UTC', 'America/New_York', 'Asia/Kolkata'])(
  'a time without a zone is UTC, wherever it is read: %s',
  async (zone) => {
    vi.stubEnv('TZ', zone)
    onTestFinished(() => void vi.unstubAllEnvs())
    for (const createdAt of ['2026-03-04T05:06:07', '2026-03-04T05:06:07.000']) {
      const { event } = await received({}, { event: 'client.created', createdAt, data: {} })
      expect(event?.occurredAt).toEqual(new Date('2026-03-04T05:06:07Z'))
      expect(parseTime(createdAt.replace('T', ' '))).toBe(Date.parse('2026-03-04T05:06:07Z'))
    }
    const zoned = { event: 'client.created', createdAt: '2026-03-04T05:06:07+02:00', data: {} }
    const { event } = await received({}, zoned)
    expect(event?.occurredAt).toEqual(new Date('2026-03-04T03:06:07Z'))
  },
)
