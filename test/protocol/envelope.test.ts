import { createReceiver, schemes, sign } from 'idv-webhooks'
import { cloudEvents } from 'idv-webhooks/protocol'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownEnvelope, readOwnEnvelope } from '../../src/protocol/envelope.ts'
import { parseTime } from '../../src/protocol/json-paths.ts'

const secret = 'an-envelope-secret'
const bytesOf = (body: object | string) =>
  new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body))

type EnvelopeFunction = Extract<Options['envelope'], (...given: never) => unknown>
type Options = Omit<Parameters<typeof createReceiver>[0], 'secret'>

/**
 * The reading of one delivery by a receiver with these options: its event, and the key of its
 * handler.
 */
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

test('a name may come from a header, an id may not', async () => {
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

test('a function that declares the context sees headers and address, and its ids are no keys', async () => {
  const seen: unknown[] = []
  const body = { id: 'body-id', data: { id: 'c' } }
  const read: EnvelopeFunction = (json, { headers, url }) => {
    seen.push(url)
    const { id, data } = json as typeof body
    return { name: headers.get('x-name') ?? '', id, data }
  }
  const headers = { 'x-name': 'client.updated' }
  const unsigned = await received({ envelope: read }, body, headers)
  expect(unsigned.event).toMatchObject({ name: 'client.updated', id: 'body-id' })
  expect(unsigned.key).toMatch(/^sha256=/)
  expect(seen).toEqual([undefined])
  const trusted = await received({ envelope: { read, trustIds: true } }, body, headers)
  expect(trusted.key).toBe('body-id')
  const some = { read, trustIds: (json: unknown) => (json as typeof body).id === 'another' }
  expect((await received({ envelope: some }, body, headers)).key).toMatch(/^sha256=/)
})

test('a function that declares no context gets none', async () => {
  const envelope = (...given: readonly unknown[]) => {
    const { id } = given[0] as { readonly id: string }
    return { name: 'client.created', id, data: { count: given.length } }
  }
  const { event, key } = await received({ envelope }, { id: 'a' })
  expect([event?.data, key]).toEqual([{ count: 1 }, 'a'])
})

test.each([{ read: 'id' }, { read: () => {}, trustIds: false }, { read: () => {}, trust: true }])(
  'a wrong trusted function is refused: %j',
  (envelope) => {
    expect(() => createReceiver({ secret, envelope: envelope as never })).toThrow('envelope')
  },
)

test('a function reads the headers of a delivery that was kept with HTTP/2 headers', async () => {
  const envelope: Options['envelope'] = (data, { headers }) => ({
    ...{ name: headers.get('x-name') ?? '', data },
  })
  const kept = { ':method': 'POST', ':path': '/', 'x-name': 'client.created' }
  expect((await received({ envelope }, { id: 'c' }, kept)).event?.name).toBe('client.created')
})

test('the mark of a reconciled event is ignored in a received delivery', async () => {
  const forged = ownEnvelope({ name: 'verification.approved', id: 'x', data: { id: 'ver_1' } })
  const envelope: Options['envelope'] = () => {
    throw new Error('a foreign issuer')
  }
  expect(await received({ envelope }, forged)).toMatchObject({ kind: 'rejected' })
  expect(readOwnEnvelope({ value: forged })?.name).toBe('verification.approved')
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

test('CloudEvents are read in binary mode, their id only if the scheme signs it', async () => {
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

test('a function may give ids as numbers, and an entity without a usable id is rejected', async () => {
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
  expect(await idOf('{"id":42}')).toBe('42')
})

test('a function sees no header that none may be, and all others', async () => {
  const envelope: Options['envelope'] = (data, { headers }) => ({
    ...{ name: headers.get('x-name') ?? '', data },
  })
  const headers = { 'x-city': 'Łódź', 'x-name': 'client.created' }
  expect((await received({ envelope }, { id: 'c' }, headers)).kind).toBe('handled')
})

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
