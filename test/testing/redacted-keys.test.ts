import { capture, signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'
import * as resources from '../../src/protocol/resources.ts'
import { redactJson } from '../../src/testing/redact.ts'
import { everyVendor } from '../vendors/every-vendor.ts'

async function redacted(body: object | string, keys?: readonly string[]): Promise<string> {
  const made = await capture(await signedDelivery(body), keys && { keys })
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
  'ZEPHYRINE',
  'AB123456',
  'x71032912345',
  'name_zephyrine',
  'first.quillfeather',
  'id_71032912345',
  '12',
  '_',
])('a key that may be a person’s is masked: %s', async (key) => {
  const text = await redacted({
    event: 'client.updated',
    data: { people: { [key]: { id: 'a1' } } },
  })
  expect(text).toMatch(/"people":\{"[xyz0-9_.-]+":\{"id":/)
  expect(text).not.toMatch(/zephyrine|quillfeather|71032912345|AB123456|"12"/i)
})

test('no count, status, time or flag stays below what the documents do not name', async () => {
  const said = { score: 97, status: 'rejected', expiresAt: '2019-05-12T00:00:00Z', active: true }
  const unsaid = { score: 11, status: 'xxxxxxxx', expiresAt: '0000-00-00x00:00:00x', active: false }
  const id = '5d0c2a3e-8b7f-4f43-9a3c-1f6e0b7f2a11'
  const places = (one: object) => ({
    ...{ id, total: 1, pep: one, documents: [one], result: { client: one, person: { id } } },
    ...{ steps: [one], thirdParties: [{ ...one, id }], requirements: ['document', one] },
  })
  const known = { ...said, client: said, object: said }
  expect(await redactedData({ ...places(said), ...known })).toEqual({ ...places(unsaid), ...known })
})

test('keys that differ are masked as keys that differ, without and within metadata', async () => {
  const names = ['jane', 'mary', 'anna', 'xxxx', 'yxxx', 'jo', 'al', 'x', 'y', 'jane1', 'mary2']
  const people = Object.fromEntries(names.map((name, nth) => [name, nth]))
  for (const key of ['people', 'metadata']) {
    const data = (await redactedData({ [key]: people }))[key] as object
    expect(Object.keys(data), key).toHaveLength(names.length)
    expect(Object.keys(data).join(), key).not.toMatch(/jane|mary|anna|jo|al/)
  }
  const twice = await redacted('{"event":"client.updated","data":{"mary":1,"jane":1,"mary":2}}')
  expect(twice).toContain('{"xxxx":1,"yxxx":1,"xxxx":1}')
})

test('a map of many keys of one shape is masked in a moment', async () => {
  const many = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, nth) => [`ü${nth % 10}-${nth}`, 0]),
  )
  expect(Object.keys(await redactedData(many))).toHaveLength(50_000)
}, 5000)

/** The keys of all objects in a value. */
function keysOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = Array.isArray(value) ? [] : Object.keys(value)
  return [...own, ...Object.values(value).flatMap(keysOf)]
}

test('the fields of the documents and of every vendor’s examples stay', async () => {
  const shapes = Object.values(resources).flatMap((one) =>
    typeof one === 'object' && 'shape' in one ? Object.keys(one.shape as object) : [],
  )
  const usual = ['documentNumber', 'date_of_birth', 'addressLine2', 'IDNumber', 'status.overall']
  const vendors = everyVendor({ allow: ['192.0.2.0/24'], proxies: 0 })
  const bodies = vendors.flatMap(({ fixtures }) => fixtures.map(({ body }) => body))
  const keys = [...new Set([...shapes, ...usual, ...keysOf(bodies)])]
  expect(keys.length).toBeGreaterThan(100)
  const data = await redactedData(Object.fromEntries(keys.map((key) => [key, true])))
  expect(Object.keys(data).toSorted()).toEqual(keys.toSorted())
})

test.each(['ssn_0_7_8_0_5_1_1_2_0', 'phone-4-1-6-5', 'dob.1.9.8.5'])(
  'digits of a key that make a number are masked, however they are separated: %s',
  async (key) => {
    expect(Object.keys(await redactedData({ [key]: true }))).not.toEqual([key])
  },
)

test('your sender’s own fields stay as keys, but not in metadata', async () => {
  const body = { tapahtuma: 'x', tiedot: { metadata: { tapahtuma: 'x' } } }
  expect(await redacted(body, ['tapahtuma'])).toBe(
    '{"tapahtuma":"x","xxxxxx":{"metadata":{"xxxxxxxxx":"x"}}}',
  )
  expect(await redacted({ ab: 1, cd: 2 }, ['xx'])).toBe('{"yx":1,"zx":1}')
  for (const keys of ['tapahtuma', [1], {}]) {
    await expect(redacted(body, keys as never)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  }
})

test('numbers in metadata and config keep their length alone, whatever their keys are called', async () => {
  const free = { score: 7, total: 850312, page: { limit: [42, -6.5] } }
  for (const key of ['metadata', 'config']) {
    const text = await redacted({ event: 'client.updated', data: { [key]: free, score: 7 } })
    expect(text, key).toMatch(/:\{"\w+":1,"\w+":111111,"\w+":\{"\w+":\[11,-1\.1\]\}\},"score":7\}/)
  }
})

test('thousands of keys that are read alike once masked hold nothing up', async () => {
  // Each with slashes of its own spelling: read, they differ in a letter that is masked.
  const keys = Array.from({ length: 8_000 }, (_, at) => {
    const slashes = [...at.toString(2).padStart(15, '0')].map((bit) => (bit === '1' ? '\\/' : '/'))
    return `"${String.fromCodePoint(0x4e00 + at)}${slashes.join('')}":1`
  })
  const text = await redacted(`{"event":"client.updated","data":{${keys}}}`)
  expect(Object.keys(JSON.parse(text).data)).toHaveLength(8_000)
})

test('a flag says nothing of a person, but for the documented ones', () => {
  const data = '{"active":true,"approved":true,"documents":[true,{"valid":false}]}'
  expect(redactJson(`{"event":"client.updated","data":${data}}`)).toBe(
    `{"event":"client.updated","data":{"active":true,"approved":false,"documents":[false,{"valid":false}]}}`,
  )
  expect(redactJson('{"type":"client.updated","metadata":{"active":true}}')).toBe(
    '{"type":"client.updated","metadata":{"xxxxxx":false}}',
  )
  expect(redactJson('[true,{"active":true}]')).toBe('[false,{"active":false}]')
})

test('of a vendor’s body neither the decision stays nor a count or flag', async () => {
  const vendors = everyVendor({ allow: ['192.0.2.0/24'], proxies: 0 })
  const bodies: unknown[] = vendors.flatMap(({ fixtures }) => fixtures.map(({ body }) => body))
  const said = { status: 'approved', score: 12, active: true, expiresAt: '2019-05-12T00:00:00Z' }
  bodies.push(
    { payload: { object: said } },
    { verification: said },
    { event: 'x', data: said },
    said,
  )
  const kept = await Promise.all(bodies.map((body) => redacted(body as object)))
  expect(
    kept.filter((one) => /approved|rejected|expired"|cancell?ed|:12[,}]|true|"2019-05/.test(one)),
  ).toEqual([])
})
