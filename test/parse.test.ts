import { createReceiver, parse, schemes, sign, verify } from 'idv-webhooks'
import { strictEventSchemas } from 'idv-webhooks/protocol'
import { defineVendor } from 'idv-webhooks/vendors'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

const secret = 'parse-secret'
const utf8 = (text: string) => new TextEncoder().encode(text)

async function verified(body: string | Uint8Array | object) {
  const bytes =
    body instanceof Uint8Array ? body : utf8(typeof body === 'string' ? body : JSON.stringify(body))
  const result = await verify({ body: bytes, headers: await sign(bytes, { secret }) }, { secret })
  if (!result.ok) throw new Error(result.code)
  return result
}

const read = async (body: Parameters<typeof verified>[0], options?: Parameters<typeof parse>[1]) =>
  parse(await verified(body), options)
const eventOf = async (...given: Parameters<typeof read>) => {
  const parsed = await read(...given)
  if (!parsed.ok) throw new Error(parsed.code)
  return parsed.event
}
const codeOf = async (...given: Parameters<typeof read>) => {
  const parsed = await read(...given)
  return parsed.ok ? 'ok' : parsed.code
}

/** A vendor whose ids are numbers. */
const numbered = defineVendor({
  name: 'numbered',
  title: 'Numbered',
  documents: [{ url: 'https://numbered.example/docs', read: '2026-11-23' }],
  triedOn: 'documents',
  scheme: schemes.service(),
  reading: {
    name: ['event'],
    subject: ['data.id'],
    id: ['meta.id'],
    rules: [{ when: { event: 'order.paid' }, is: 'verification.approved' }],
  },
  finality: { final: ['verification.approved'], reversible: [] },
  delivery: { success: '2xx' },
  fixtures: [],
})

const createdAt = '2026-03-01T10:00:00+02:00'
const data = { id: 'ver_1', status: 'approved' }

describe('an envelope', () => {
  test("an envelope in the sandbox's form becomes a typed event", async () => {
    const body = { id: 'evt_1', event: 'verification.approved', createdAt, data }
    expect(await eventOf(body)).toEqual({
      id: 'evt_1',
      name: 'verification.approved',
      receivedName: 'verification.approved',
      data,
      occurredAt: new Date('2026-03-01T08:00:00Z'),
      entity: { type: 'verification', id: 'ver_1' },
      known: true,
      source: 'webhook',
    })
  })

  test('an envelope is read under every documented spelling of its parts', async () => {
    for (const name of ['event', 'type', 'name']) {
      for (const id of ['id', 'eventId']) {
        for (const time of ['createdAt', 'created_at', 'timestamp', 'occurredAt']) {
          for (const resource of ['data', 'payload', 'resource']) {
            const body = {
              [name]: 'client.updated',
              [id]: 'evt_1',
              [time]: createdAt,
              [resource]: { id: 'cli_1' },
            }
            expect(await eventOf(body)).toMatchObject({
              name: 'client.updated',
              id: 'evt_1',
              data: { id: 'cli_1' },
              occurredAt: new Date(createdAt),
            })
          }
        }
      }
    }
    const nested = { type: 'verification.approved', data: { object: data } }
    expect(await eventOf(nested)).toMatchObject({ data })
  })

  test('the first documented spelling wins if several are present', async () => {
    const body = {
      event: 'client.created',
      type: 'x',
      name: 'y',
      id: 'a',
      eventId: 'b',
      data: { id: 'c' },
      payload: {},
    }
    expect(await eventOf(body)).toMatchObject({
      name: 'client.created',
      id: 'a',
      data: { id: 'c' },
    })
  })

  test('an envelope without a resource is itself the resource', async () => {
    const flat = { event: 'verification.approved', eventId: 'evt_1', createdAt, ...data }
    const parsed = await read(flat)
    expect(parsed).toMatchObject({ ok: true, key: 'evt_1', event: { id: 'evt_1', data } })
    // The only id may be the resource's, shared by all of its events: it must not tell duplicates.
    const doubtful = await read({ event: 'verification.approved', ...data })
    expect(doubtful).toMatchObject({ event: { id: 'ver_1', data, entity: { id: 'ver_1' } } })
    expect(doubtful).not.toHaveProperty('key')
  })

  test('times are read as ISO 8601 or numbers, and anything else is left out', async () => {
    const at = async (time: unknown) =>
      (await eventOf({ event: 'client.created', timestamp: time, data: { id: 'c' } })).occurredAt
    expect(await at(1772359200)).toEqual(new Date(1772359200_000))
    for (const unit of [1, 1_000, 1_000_000]) {
      // Milliseconds, microseconds and nanoseconds are told by their size.
      expect(await at(1772359200_123 * unit)).toEqual(new Date(1772359200_123))
    }
    for (const nothing of ['garbage 1', '2026', true, 1e300])
      expect(await at(nothing)).toBeUndefined()
  })

  test('long numeric ids stay distinct that a number could not represent', async () => {
    const id = async (text: string) =>
      (await eventOf(`{"event":"client.created","id":${text},"data":{"id":"c","list":[{"id":7}]}}`))
        .id
    expect(await id('12345678901234567890')).toBe('12345678901234567890')
    expect(await id('12345678901234567891')).toBe('12345678901234567891')
    expect(await id('42')).toBe('42')
    expect(await id('true')).toBeUndefined()
  })

  test('long numeric ids are exact at any place, and for entities and vendors too', async () => {
    const [one, other] = ['9007199254740993', '9007199254740992']
    for (const id of [one, other]) {
      const body = `{"event":"order.paid","meta":{"id":${id}},"data":{"id":${id},"n":[${id}]}}`
      const paths = await read(body, { envelope: { id: 'meta.id' } })
      expect(paths).toMatchObject({ key: id, event: { id, entity: { type: 'order', id } } })
      expect(paths).toMatchObject({ event: { data: { id: Number(id), n: [Number(id)] } } })
      const vendors = await read(body, { vendor: numbered })
      const entity = { type: 'verification', id }
      expect(vendors).toMatchObject({
        key: id,
        event: { entity, data: { id }, raw: { event: 'order.paid' } },
      })
    }
    const text = `{"event":"order.paid","id":"e","data":{"id":"1234567890123456789","at":[1e30, 1.5]}}`
    expect(await read(text)).toMatchObject({ event: { data: { at: [1e30, 1.5] } } })
  })

  test('a body without an envelope is refused', async () => {
    for (const body of [
      '[]',
      '"text"',
      '1',
      'null',
      '{}',
      '{"event":1}',
      '{"event":""}',
      '{"data":{}}',
    ]) {
      expect(await codeOf(body), body).toBe('ENVELOPE_INVALID')
    }
  })

  test('an envelope is found at configured paths or by a function', async () => {
    const body = {
      meta: { kind: 'client.created', no: 'evt_9' },
      at: createdAt,
      body: { id: 'cli_1' },
    }
    const paths = { name: 'meta.kind', id: ['x', 'meta.no'], occurredAt: 'at', data: 'body' }
    const want = { name: 'client.created', id: 'evt_9', data: { id: 'cli_1' } }
    expect(await eventOf(body, { envelope: paths })).toMatchObject(want)
    const envelope = (json: unknown) => {
      const { meta, body: resource } = json as typeof body
      return { name: meta.kind, id: meta.no, data: resource }
    }
    expect(await read(body, { envelope })).toMatchObject({ key: 'evt_9', event: want })
    expect(await codeOf('{}', { envelope })).toBe('ENVELOPE_INVALID')
    expect(await codeOf('{}', { envelope: () => ({ name: 7 }) as never })).toBe('ENVELOPE_INVALID')
  })
})

describe('bytes that cannot be understood', () => {
  test('bytes that cannot be understood are refused by code', async () => {
    expect(await codeOf(Uint8Array.of(0x22, 0xff, 0x22))).toBe('BODY_NOT_UTF8')
    expect(await codeOf(Uint8Array.of(0xed, 0xa0, 0x80))).toBe('BODY_NOT_UTF8')
    for (const text of ['', '{', '{"a":1,}', "{'a':1}", 'undefined', '{"a":NaN}', '{}{}']) {
      expect(await codeOf(text), text).toBe('BODY_NOT_JSON')
    }
  })

  test('JSON nested 200,000 levels deep is refused and the process survives', async () => {
    const deep = 200_000
    expect(await codeOf('['.repeat(deep) + ']'.repeat(deep))).toBe('BODY_NOT_JSON')
    expect(await codeOf('['.repeat(deep))).toBe('BODY_NOT_JSON')
    expect(await codeOf(`${'{"a":'.repeat(deep)}1${'}'.repeat(deep)}`)).toBe('BODY_NOT_JSON')
    const nested = (levels: number) =>
      `{"event":"client.created","data":{"id":"c","x":${'['.repeat(levels)}${']'.repeat(levels)}}}`
    expect(await codeOf(nested(510))).toBe('ok')
    expect(await codeOf(nested(511))).toBe('BODY_NOT_JSON')
    const brackets = `{"event":"client.created","data":{"id":"c","x":"\\"${'['.repeat(deep)}"}}`
    expect(await codeOf(brackets)).toBe('ok')
  })

  test('no body can reach a prototype', async () => {
    const hostile = `{"event":"verification.approved","__proto__":{"admin":true},
      "data":{"id":"ver_1","__proto__":{"admin":true},"\\u005f_proto__":{"admin":true},
      "constructor":{"prototype":{"admin":true}},"deep":[{"__proto__":{"admin":true}}]}}`
    const { data } = await eventOf(hostile)
    const merge = (into: Record<string, unknown>, from: Record<string, unknown>) => {
      for (const [key, value] of Object.entries(from)) {
        if (typeof value === 'object' && value !== null && typeof into[key] === 'object') {
          merge(into[key] as Record<string, unknown>, value as Record<string, unknown>)
        } else into[key] = value
      }
      return into
    }
    expect(Object.assign({}, data)).not.toHaveProperty('admin')
    expect(merge({}, data as Record<string, unknown>)).not.toHaveProperty('admin')
    expect({}).not.toHaveProperty('admin')
    expect(JSON.stringify(data)).not.toContain('admin')
  })
})

describe('a name', () => {
  test('a legacy name becomes its canonical one', async () => {
    for (const step of ['created', 'submitted', 'approved', 'rejected', 'canceled', 'expired']) {
      expect(await eventOf({ event: `request.${step}`, data })).toMatchObject({
        name: `verification.${step}`,
        receivedName: `request.${step}`,
        known: true,
        entity: { type: 'verification', id: 'ver_1' },
      })
    }
  })

  test("a legacy name is unknown under legacy: 'reject'", async () => {
    const event = await eventOf({ event: 'request.approved', data }, { legacy: 'reject' })
    const entity = { type: 'verification', id: 'ver_1' }
    expect(event).toMatchObject({ name: 'request.approved', known: false, entity })
  })

  test('an unknown name is passed on as unknown', async () => {
    expect(await eventOf({ event: 'verification.archived', data })).toMatchObject({
      known: false,
      entity: { type: 'verification', id: 'ver_1' },
    })
    for (const event of ['request.archived', 'toString', '__proto__', 'ping']) {
      expect(await eventOf({ event, data: {} })).toMatchObject({ name: event, known: false })
    }
  })
})

describe('data that does not fit', () => {
  const wrong = { event: 'verification.approved', data: { status: 7, createdAt: 'yesterday' } }

  test('data that does not fit is delivered with its issues by default', async () => {
    const event = await eventOf(wrong)
    expect(event.data).toEqual(wrong.data)
    expect(event.issues?.map(({ path }) => path)).toEqual(
      expect.arrayContaining([['id'], ['status'], ['createdAt']]),
    )
    expect(event.entity).toEqual({ type: 'verification', id: '' })
  })

  test("data that does not fit is refused under validate: 'reject', and not checked under 'off'", async () => {
    expect(await codeOf(wrong, { validate: 'reject' })).toBe('EVENT_INVALID')
    expect(await eventOf(wrong, { validate: 'off' })).not.toHaveProperty('issues')
  })

  test('unknown fields, unknown enum values, nulls and any offset fit', async () => {
    const fresh = {
      id: 'ver_1',
      status: 'on_hold',
      type: 'aml',
      requirements: ['document', 'voice'],
      matterId: null,
      createdAt: '2026-03-01T10:00:00.123-03:30',
      brandNew: { kept: true },
    }
    const event = await eventOf({ event: 'verification.created', data: fresh })
    expect(event).not.toHaveProperty('issues')
    expect(event.data).toEqual(fresh)
  })
})

describe('schemas of your own', () => {
  test('custom schemas replace a built-in one and add events', async () => {
    const schemas = {
      'verification.approved': z.object({ id: z.string(), score: z.coerce.number() }),
      'matter.closed': z.object({ id: z.string() }),
    }
    const approved = { event: 'verification.approved', data: { id: 'v', score: '88', extra: 1 } }
    expect(await eventOf(approved, { schemas })).toMatchObject({ data: { id: 'v', score: 88 } })
    expect(await eventOf({ event: 'matter.closed', data: { id: 'm' } }, { schemas })).toMatchObject(
      {
        known: true,
        entity: { type: 'matter', id: 'm' },
      },
    )
  })

  test('the strict ones report a value that is not documented, and deliver the event', async () => {
    const later = { event: 'verification.approved', data: { id: 'v', status: 'later', extra: 1 } }
    const issues = [{ path: ['status'], message: expect.any(String) }]
    const schemas = strictEventSchemas
    expect(await eventOf(later, { schemas })).toMatchObject({ data: later.data, issues })
    const known = { ...later, data: { ...later.data, status: 'approved' } }
    expect(await eventOf(known, { schemas })).not.toHaveProperty('issues')
    expect(await eventOf(later, {})).not.toHaveProperty('issues')
  })

  test('custom schemas that cannot work are refused at creation', () => {
    const make = (schemas: object) => () => createReceiver({ secret, schemas: schemas as never })
    const code = expect.objectContaining({ code: 'SCHEMA_INVALID' })
    expect(make({ 'verification.approved': {} })).toThrow(code)
    expect(make({ 'request.approved': z.object({}) })).toThrow(code)
    expect(make({ 'verification.*': z.object({}) })).toThrow(code)
    expect(make({ approved: z.object({}) })).toThrow(code)
  })

  test('an async schema is reported as a mistake of the caller', async () => {
    const schema = z.object({ id: z.string().refine(async () => true) })
    const schemas = { 'verification.approved': schema }
    const body = { event: 'verification.approved', data }
    await expect(read(body, { schemas })).rejects.toThrow(
      expect.objectContaining({ code: 'SCHEMA_ASYNC' }),
    )
  })

  test('a transform that throws is reported by its own error', async () => {
    const transform = () => {
      throw new TypeError('no such unit')
    }
    const schemas = { 'verification.approved': z.object({ id: z.string().transform(transform) }) }
    const body = { event: 'verification.approved', data }
    await expect(read(body, { schemas })).rejects.toThrow(new TypeError('no such unit'))
  })
})

test('bytes that were not verified are not parsed', async () => {
  const { delivery } = await verified({ event: 'client.created', data })
  const code = expect.objectContaining({ code: 'DELIVERY_NOT_VERIFIED' })
  expect(() => parse({ ...delivery })).toThrow(code)
  expect(() => parse({ ok: true, delivery: { ...delivery, body: utf8('{}') } })).toThrow(code)
  expect(parse(delivery)).toMatchObject({ ok: true })
})

test.each([
  ['envelope', 'event'],
  ['envelope', { kind: 'x' }],
  ['envelope', { name: [] }],
  ['envelope', { name: 7 }],
  ['validate', 'strict'],
  ['legacy', 'yes'],
])('%s: %j is refused at creation', (option, value) => {
  const make = () => createReceiver({ secret, [option]: value as never })
  expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  expect(make).toThrow(option)
})

const listed = z.looseObject({ requirements: z.array(z.string()) })

test.each([
  ['built in', {}, 1],
  ['strict', { schemas: strictEventSchemas }, 1],
  ['of one’s own', { schemas: { 'verification.approved': listed } }, 100],
])('thousands of faults are few issues, by schemas that are %s', async (_, options, most) => {
  const requirements = Array.from({ length: 200_000 }, () => 1)
  const body = { event: 'verification.approved', data: { id: 'ver_1', requirements } }
  const { issues, data } = await eventOf(body, options)
  expect(issues).toHaveLength(most)
  expect(data).toMatchObject({ requirements: { length: 200_000 } })
})

test.each([
  [1_000, true],
  [1_001, false],
])('a text of %i characters is an id: %s', async (length, counts) => {
  const id = 'x'.repeat(length)
  const client = id.replace('x', 'y')
  const parsed = await read({ id, event: 'client.created', data: { id: client } })
  if (!parsed.ok) throw new Error(parsed.code)
  const { key, event } = parsed
  expect([key, event.id, event.entity?.id]).toEqual(
    counts ? [id, id, client] : [undefined, undefined, ''],
  )
  expect(event.data).toEqual({ id: client })
})

test.each([
  ['invoice.paid', 'invoice'],
  ['order-2.item:created', 'order-2'],
  [`${'x'.repeat(100)}.paid`, 'x'.repeat(100)],
  [`${'x'.repeat(101)}.paid`, undefined],
  ['Zephyrine Quillfeather Jr.', undefined],
  ['Dr. Zephyrine Quillfeather', undefined],
])('the name %j of a sender’s own gives an entity of the type %j', async (event, type) => {
  expect((await eventOf({ event, data: { id: 'a' } })).entity?.type).toBe(type)
})

test('an entity of a function has a type that is no longer than an id', async () => {
  const envelope = (length: number) => () => {
    return { name: 'a.b', data: {}, entity: { type: 'x'.repeat(length), id: 'a' } }
  }
  expect(await read({}, { envelope: envelope(1_000) })).toMatchObject({ ok: true })
  expect(await read({}, { envelope: envelope(1_001) })).toMatchObject({ ok: false })
})
