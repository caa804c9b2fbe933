import { capture, signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'
import { defined } from '../../src/foundation/defined.ts'
import * as resources from '../../src/protocol/resources.ts'
import { opaqueId } from '../../src/redaction/ids.ts'
import { redactBody } from '../../src/redaction/redact.ts'
import { readVendorEvent, type Vendor } from '../../src/vendors/index.ts'
import { everyVendor } from '../vendors/every-vendor.ts'

async function redacted(body: object, keys?: readonly string[], vendor?: Vendor): Promise<string> {
  const made = await capture(await signedDelivery(body), defined({ keys, vendor }))
  return Buffer.from(made.body, 'base64').toString()
}

/** A redacted `data` of an event. */
async function redactedData(data: object): Promise<Record<string, unknown>> {
  return JSON.parse(await redacted({ event: 'client.updated', data })).data
}

test.each([
  'zephyrine_quillfeather',
  'Zephyrine',
  'zephyrineQuillfeather',
  'AB123456',
  'x71032912345',
  'name_zephyrine',
  'ssn_0_7_8_0_5_1_1_2_0',
  'documentNumber',
  'toString',
  '12',
  '_',
])('a key that the documents do not name is replaced: %s', async (key) => {
  const text = await redacted({
    event: 'client.updated',
    data: { person: { [key]: { id: 'ver_1' } } },
  })
  expect(text).toContain('"person":{"x1":{"id":"ver_1"}}')
})

test('no count, status, time or flag stays below an undocumented key', async () => {
  const said = { score: 97, status: 'rejected', expiresAt: '2019-05-12T00:00:00Z', active: true }
  const unsaid = { score: 11, status: 'xxxxxxxx', expiresAt: '0000-00-00x00:00:00x', active: false }
  const id = '5d0c2a3e-8b7f-4f43-9a3c-1f6e0b7f2a11'
  const places = (one: object) => ({
    ...{ id, total: 1, pep: one, documents: [one], person: { client: one, location: { id } } },
    ...{ steps: [one], thirdParties: [{ ...one, id }], requirements: ['document', one] },
  })
  const known = { ...said, client: said, object: said }
  expect(await redactedData({ ...places(said), ...known })).toEqual({ ...places(unsaid), ...known })
})

test('keys that are replaced stay different, without and within metadata', async () => {
  const people = Object.fromEntries(['jane', 'mary', 'anna'].map((name, nth) => [name, nth]))
  for (const key of ['person', 'metadata']) {
    const data = (await redactedData({ [key]: people }))[key] as object
    expect(Object.keys(data), key).toEqual(['x1', 'x2', 'x3'])
  }
})

test('a map of many keys is redacted in a moment', async () => {
  const many = Object.fromEntries(Array.from({ length: 50_000 }, (_, nth) => [`ü${nth}`, 0]))
  expect(Object.keys(await redactedData(many))).toHaveLength(50_000)
}, 5000)

test('the fields of the documents stay', async () => {
  const keys = Object.values(resources).flatMap((one) =>
    typeof one === 'object' && 'shape' in one ? Object.keys(one.shape as object) : [],
  )
  expect(keys.length).toBeGreaterThan(100)
  const data = await redactedData(Object.fromEntries(keys.map((key) => [key, true])))
  expect(new Set(Object.keys(data))).toEqual(new Set(keys))
})

test('your sender’s own fields stay as keys, but not in metadata', async () => {
  const body = { tapahtuma: 'x', tiedot: { metadata: { tapahtuma: 'x' } } }
  expect(await redacted(body, ['tapahtuma'])).toBe('{"tapahtuma":"x","x2":{"metadata":{"x1":"x"}}}')
  for (const keys of ['tapahtuma', [1], {}]) {
    await expect(redacted(body, keys as never)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  }
})

test('numbers in metadata and config keep only their length, whatever their keys', async () => {
  const free = { score: 7, total: 850312, page: { limit: [42, -6.5] } }
  for (const key of ['metadata', 'config']) {
    const text = await redacted({ event: 'client.updated', data: { [key]: free, score: 7 } })
    expect(text, key).toContain('{"x1":1,"x2":111111,"x3":{"x1":[11,-1.1]}},"score":7}')
  }
})

test('a flag stays only if it is documented', () => {
  const data = { active: true, approved: true, documents: [true, { valid: false }] }
  expect(redactBody({ event: 'client.updated', data }, [])).toEqual({
    event: 'client.updated',
    data: { active: true, x2: false, documents: [false, { x1: false }] },
  })
  expect(redactBody([true, { active: true }], [])).toEqual([false, { active: false }])
})

const every = everyVendor({ allow: ['192.0.2.0/24'], proxies: 0 })

test('a vendor’s body keeps neither its decision nor a count or flag', async () => {
  const bodies: unknown[] = every.flatMap(({ fixtures }) => fixtures.map(({ body }) => body))
  const said = { status: 'approved', score: 12, active: true, expiresAt: '2019-05-12T00:00:00Z' }
  bodies.push(
    { payload: { object: said } },
    { verification: said },
    { event: 'x', data: said },
    said,
  )
  const kept = await Promise.all(bodies.map((body) => redacted(body as object)))
  expect(
    kept.filter((one) => /approved|rejected|expired"|cancell?ed|:12|true|2019/.test(one)),
  ).toEqual([])
})

test.each(every.map((vendor) => [vendor.name, vendor] as const))(
  'with the preset, a capture reads as the delivery did: %s',
  async (_, vendor) => {
    for (const { name, body } of vendor.fixtures.filter(({ name }) => name)) {
      const text = await redacted(body, undefined, vendor)
      // A body that is a JWS has its payload between two points.
      const payload = Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()
      const read = readVendorEvent(vendor, JSON.parse(vendor.scheme.bodyJws ? payload : text))
      expect(read?.name).toBe(name)
    }
  },
)

test('with a preset, undocumented values are replaced at the documented places too', async () => {
  const vendor = every.find(({ name }) => name === 'onfido')
  const object = { id: 'Zephyrine', status: 'deceased', completed_at_iso8601: '+49 151 2345' }
  const body = { payload: { action: 'zephyrine', object, resource: { applicant_id: 'Quill 1' } } }
  const text = await redacted(body, undefined, vendor)
  expect(text).not.toMatch(/zephyrine|deceased|151|Quill/i)
  expect(JSON.parse(text).payload.object.status).toBe('xxxxxxxx')
})

test('an id of base64 or hex is replaced, for either can be a text', () => {
  const texts = ['sarah.connor@example.org', 'Müller, Jörg 1990-01-31', '+49 151 234 56 78 90']
  const ids = texts.flatMap((text) =>
    (['base64', 'base64url', 'hex'] as const).flatMap((alphabet) =>
      ['', 'cli_', 'gid-', 'a-b_'].map((word) => word + Buffer.from(text).toString(alphabet)),
    ),
  )
  expect(ids.filter((id) => opaqueId(id).includes(id))).toEqual([])
})

test('an id gets the same replacement again, and the number of remembered ids is bounded', () => {
  const ids = Array.from({ length: 9_000 }, (_, at) => `id ${at}`)
  const before = opaqueId('id 0')
  expect(new Set(ids.map(opaqueId)).size).toBe(9_000)
  expect(opaqueId('id 0')).toBe(before)
  for (let at = 9_000; at < 25_000; at++) opaqueId(`id ${at}`)
  expect(opaqueId('id 0')).not.toBe(before)
})
