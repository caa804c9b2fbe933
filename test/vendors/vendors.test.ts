import { createReceiver, type Scheme, type SchemeDefinition, schemes, verify } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { defineVendor, type Vendor, vendors } from 'idv-webhooks/vendors'
import { describe, expect, test } from 'vitest'
import { secretFor, vendorsByHand } from './by-hand.ts'
import { everyVendor } from './every-vendor.ts'

const at = Date.UTC(2026, 4, 1, 12)
const now = () => new Date(at + 2000)
// A vendor that signs nothing is known by these addresses.
const addressed = { allow: ['203.0.113.0/24'], proxies: 0 }
const all = everyVendor(addressed)
const signing = all.filter(({ scheme }) => scheme.authenticity === 'signature')
const smileId = vendors.smileId({ partnerId: '2000' })
const tokens = all.filter(({ scheme }) => scheme.authenticity === 'token')

interface Change {
  readonly body?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly secret?: string
}

const bodyOf = ({ fixtures }: Vendor) => Buffer.from(JSON.stringify(fixtures[0]?.body))
const vectorOf = ({ name }: Vendor) => {
  const vector = vendorsByHand[name]
  if (!vector) throw new Error(`${name} has no vector`)
  return vector
}

function secretOf(vendor: Vendor) {
  return secretFor(vendor.scheme, vectorOf(vendor).secret)
}

/** A delivery of some bytes, as the vendor signs them. */
function sentOf(vendor: Vendor, body: Buffer) {
  const url = 'https://app.test/webhooks'
  const { headers, sends = (own: Buffer) => own } = vectorOf(vendor)
  return { body: sends(body), headers: headers({ body, at, id: 'msg_1', url }), url }
}

const sentBy = (vendor: Vendor) => sentOf(vendor, bodyOf(vendor))

async function outcome(vendor: Vendor, change: Change = {}) {
  const { secret: text = vectorOf(vendor).secret, ...changed } = change
  const given = { ...sentBy(vendor), ...changed }
  const { scheme } = vendor
  const result = await verify(given, { secret: secretFor(scheme, text), scheme, now })
  return result.ok || result.code
}

test('every vendor has a vector, or is known by its addresses', () => {
  const keyed = [...signing, ...tokens, smileId].map(({ name }) => name)
  expect(Object.keys(vendorsByHand).sort()).toEqual(keyed.sort())
  for (const vendor of all) expect(vendors).toHaveProperty(vendor.name)
  const others = all.filter(({ name }) => !keyed.includes(name))
  expect(others.map(({ scheme }) => scheme.authenticity)).toEqual(others.map(() => 'ip'))
})

describe.each(signing.map((vendor) => [vendor.name, vendor] as const))('%s', (_, vendor) => {
  test('is handled once if the same bytes arrive again and state a time or an id', async () => {
    const inbox = createInbox({ store: memoryStore() })
    const secret = secretOf(vendor)
    const receiver = createReceiver({ vendor, secret, now, inbox, observe: () => {} })
    const decided = vendor.fixtures.find(({ name }) => name === 'verification.approved')
    const sent = sentOf(vendor, Buffer.from(JSON.stringify((decided ?? vendor.fixtures[0])?.body)))
    const kinds: string[] = []
    for (const _ of [1, 2]) kinds.push((await receiver.receive(sent)).kind)
    // Their events say that something changed, and all have the same bytes.
    const isThin = ['plaid', 'truora'].includes(vendor.name)
    expect(kinds).toEqual(['accepted', isThin ? 'accepted' : 'duplicate'])
  })

  test('treats every delivery as new when the preset does not dedupe by body', async () => {
    const { dedupe: _, id: __, ...reading } = vendor.reading
    const inbox = createInbox({ store: memoryStore() })
    const secret = secretOf(vendor)
    const own = defineVendor({ ...vendor, reading })
    const receiver = createReceiver({ vendor: own, secret, now, inbox, observe: () => {} })
    const sent = sentBy(vendor)
    const kinds: string[] = []
    for (const _ of [1, 2]) kinds.push((await receiver.receive(sent)).kind)
    // The id that the scheme signs is the event's id.
    expect(kinds).toEqual(['accepted', vendor.scheme.id ? 'duplicate' : 'accepted'])
  })

  test('is accepted as node:crypto signs it, by a receiver too', async () => {
    expect(await outcome(vendor)).toBe(true)
    const receiver = createReceiver({ vendor, secret: secretOf(vendor), now })
    receiver.on('*', () => {})
    const handled = await receiver.receive(sentBy(vendor))
    expect(handled).toMatchObject({ kind: 'handled', authenticity: 'signature' })
  })

  test('is refused with any bit of its body changed, serialised again, or by another key', async () => {
    const { body } = sentBy(vendor)
    // One bit of a JWS may leave none.
    const refused = vendor.scheme.bodyJws ? /SIGNATURE_M(ISMATCH|ALFORMED)/ : /SIGNATURE_MISMATCH/
    for (const bit of [0, 91, body.length * 8 - 1]) {
      const changed = Uint8Array.from(body)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      expect(await outcome(vendor, { body: changed })).toMatch(refused)
    }
    const respaced = Buffer.from(JSON.stringify(vendor.fixtures[0]?.body, null, 2))
    expect(await outcome(vendor, { body: respaced })).toMatch(refused)
    const secret = vectorOf(vendor).other ?? 'a-secret-of-thirty-two-characterr'
    expect(await outcome(vendor, { secret })).toBe('SIGNATURE_MISMATCH')
  })

  test('is refused without its signature', async () => {
    const missing = vendor.scheme.bodyJws ? { body: bodyOf(vendor) } : { headers: {} }
    expect(await outcome(vendor, missing)).toMatch(/SIGNATURE_M(ISSING|ALFORMED)/)
  })
})

test.each(all.map((vendor) => [vendor.name, vendor] as const))(
  '%s: each of its documented events reaches the handler of its name',
  async (_, vendor) => {
    const { authenticity } = vendor.scheme
    const isKeyed = authenticity !== 'ip'
    const secret = isKeyed ? secretOf(vendor) : undefined
    for (const { name, body } of vendor.fixtures) {
      const accept = ['signed', 'unsigned'] as const
      const receiver = createReceiver({ vendor, secret, authenticity, accept, now })
      const heard: string[] = []
      const hear = (event: { readonly name: string }) => void heard.push(event.name)
      if (name) receiver.on(name, hear)
      else receiver.fallback(hear)
      const bytes = Buffer.from(JSON.stringify(body))
      const sent = isKeyed ? sentOf(vendor, bytes) : { body: bytes, headers: {} }
      const kind = (await receiver.receive({ ...sent, address: '203.0.113.9' })).kind
      expect(kind, JSON.stringify(body)).toBe('handled')
      expect(heard).toEqual([name ?? expect.stringMatching(new RegExp(`^${vendor.name}[.].`))])
    }
  },
)

describe.each(tokens.map((vendor) => [vendor.name, vendor] as const))('%s', (_, vendor) => {
  const receiving = (authenticity?: 'token') =>
    createReceiver({ vendor, secret: secretOf(vendor), ...(authenticity && { authenticity }) })

  test('is accepted by its token only if the receiver asks for that', async () => {
    expect(() => receiving()).toThrow("pass authenticity: 'token'")
    const receiver = receiving('token')
    receiver.on('*', () => {})
    const handled = await receiver.receive(sentBy(vendor))
    expect(handled).toMatchObject({ kind: 'handled', authenticity: 'token' })
  })

  test('is refused with another token, in another form, or without one', async () => {
    const { body, headers } = sentBy(vendor)
    const { authorization = '' } = headers
    for (const [value, code] of [
      [`${authorization.slice(0, -1)}A`, 'SIGNATURE_MISMATCH'],
      [authorization.replace('Basic ', 'Bearer '), 'SIGNATURE_MALFORMED'],
      ['', 'SIGNATURE_MISSING'],
    ] as const) {
      const rejected = await receiving('token').receive({ body, headers: { authorization: value } })
      expect(rejected).toMatchObject({ kind: 'rejected', code })
    }
  })
})

describe('Smile ID', () => {
  const given = { vendor: smileId, secret: secretOf(smileId), now }

  test('proves a time and your partner id only if the receiver asks for that', async () => {
    expect(() => createReceiver(given)).toThrow("pass authenticity: 'timestamp'")
    const receiver = createReceiver({ ...given, authenticity: 'timestamp' })
    receiver.on('*', () => {})
    const handled = await receiver.receive(sentBy(smileId))
    expect(handled).toMatchObject({ kind: 'handled', authenticity: 'timestamp' })
    const body = Buffer.from('{"status":"clear","job_id":"another"}')
    const replayed = await receiver.receive({ ...sentBy(smileId), body })
    expect(replayed).toMatchObject({ kind: 'handled', authenticity: 'timestamp' })
  })

  test('is refused with another time, another partner, another key, and too late', async () => {
    const { body, headers } = sentBy(smileId)
    const later = { ...headers, 'response-timestamp': new Date(at + 1000).toISOString() }
    const answers = await Promise.all([
      verify({ body, headers: later }, { ...asked, secret: secretOf(smileId) }),
      verify(
        { body, headers },
        { ...asked, scheme: vendors.smileId({ partnerId: '2001' }).scheme },
      ),
      verify({ body, headers }, { ...asked, secret: 'another-secret-of-some-length' }),
      verify({ body, headers }, { ...asked, now: () => new Date(at + 301_000) }),
    ])
    expect(answers.map((one) => one.ok || one.code)).toEqual([
      ...['SIGNATURE_MISMATCH', 'SIGNATURE_MISMATCH', 'SIGNATURE_MISMATCH'],
      'TIMESTAMP_OUTSIDE_TOLERANCE',
    ])
  })

  const asked = {
    secret: secretOf(smileId),
    scheme: smileId.scheme,
    authenticity: 'timestamp',
    now,
  } as const

  test.each([
    ['{timestamp}{body}', 'and no {body}'],
    ['{timestamp}', 'with other text'],
    ['2000sid_request', 'signs a {timestamp}'],
  ])('a scheme of a time alone that signs %s is refused', (signed, message) => {
    const { template: _, ...definition } = smileId.scheme
    expect(() => schemes.define({ ...definition, signed })).toThrow(message)
  })

  test('no other level can be asked of a scheme that signs', () => {
    const { template: _, ...definition } = vendors.onfido().scheme
    for (const authenticity of ['token', 'ip', 'none']) {
      const given = { ...definition, authenticity } as SchemeDefinition
      expect(() => schemes.define(given)).toThrow('authenticity must be')
    }
  })

  test('its scheme survives JSON', () => {
    expect(schemes.define(JSON.parse(JSON.stringify(smileId.scheme)))).toEqual(smileId.scheme)
  })

  test('a partner id is needed', () => {
    for (const partnerId of [undefined, '', '{body}', 'a b']) {
      expect(() => vendors.smileId({ partnerId: partnerId as string })).toThrow('partnerId must be')
    }
  })
})

test('Yoti sends a Bearer token if its notifications are set up so', () => {
  expect(vendors.yoti({ auth: 'Bearer' }).scheme.grammar).toEqual({ prefix: 'Bearer ' })
  expect(() => vendors.yoti({ auth: 'Digest' as never })).toThrow('auth must be')
})

test('an event that states no time is not told by its bytes, whatever its vendor says of others', async () => {
  const vendor = vendors.veriff()
  const inbox = createInbox({ store: memoryStore() })
  const secret = secretOf(vendor)
  const { id: _, ...reading } = vendor.reading
  const own = defineVendor({ ...vendor, reading })
  const receiver = createReceiver({ vendor: own, secret, now, inbox, observe: () => {} })
  // The first fixture is a step of the session, without a time.
  const kinds: string[] = []
  for (const _ of [1, 2]) kinds.push((await receiver.receive(sentBy(vendor))).kind)
  expect(kinds).toEqual(['accepted', 'accepted'])
})

test('a step of Veriff is known by its attempt, and one of a resubmission is another event', async () => {
  const vendor = vendors.veriff()
  const inbox = createInbox({ store: memoryStore() })
  const secret = secretOf(vendor)
  const receiver = createReceiver({ vendor, secret, inbox, observe: () => {} })
  const url = 'https://app.test/webhooks'
  const steps = vendor.fixtures.filter(({ body }) => body.action !== undefined)
  const kinds: string[] = []
  for (const attempt of ['first', 'first', 'second']) {
    for (const step of steps) {
      const body = Buffer.from(JSON.stringify({ ...step.body, attemptId: attempt }))
      const headers = vectorOf(vendor).headers({ body, at, id: 'msg_1', url })
      kinds.push((await receiver.receive({ body, headers })).kind)
    }
  }
  const [kept, again] = ['accepted', 'duplicate']
  expect(kinds).toEqual([kept, kept, again, again, kept, kept])
})

const isTimed = ({ tolerance }: Scheme) => tolerance !== 'none'
const timed = signing.filter(({ scheme }) => isTimed(scheme))

test.each(timed.map((vendor) => [vendor.name, vendor] as const))(
  '%s is refused with another time, and too late',
  async (_, vendor) => {
    const { headers } = sentBy(vendor)
    const [header = '', value = ''] = Object.entries(headers)[0] ?? []
    const isJwt = value.startsWith('ey')
    const later = isJwt
      ? withIat(value, at / 1000 + 1)
      : value.replaceAll(`${at / 1000}`, `${at / 1000 + 1}`)
    expect(later).not.toBe(value)
    const changed = { headers: { ...headers, [header]: later } }
    expect(await outcome(vendor, changed)).toBe('SIGNATURE_MISMATCH')
    const { scheme } = vendor
    const seconds = Number(scheme.tolerance) + 2
    const late = { now: () => new Date(at + seconds * 1000), secret: secretOf(vendor) }
    const result = await verify(sentBy(vendor), { ...late, scheme })
    expect(result.ok || result.code).toBe('TIMESTAMP_OUTSIDE_TOLERANCE')
  },
)

/** A token whose claims were changed after it was signed. */
function withIat(token: string, iat: number): string {
  const [head, claims = '', signature] = token.split('.')
  const changed = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), iat }
  return [head, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.')
}

test.each(['id', 'bodies', true])('a reading whose dedupe is %j is refused', (dedupe) => {
  const vendor = vendors.veriff()
  const reading = { ...vendor.reading, dedupe } as unknown as Vendor['reading']
  expect(() => defineVendor({ ...vendor, reading })).toThrow("reading.dedupe must be 'body', got")
})

test.each([
  [{ occuredAt: ['at'] }, "has no option 'occuredAt'. Did you mean 'occurredAt'?"],
  [{ subject: 'data.id' }, "vendor.reading.subject must be a list of paths like ['data.id']"],
  [{ name: undefined }, 'vendor.reading.name must be a list of paths'],
  [{ volatile: 'retry' }, 'vendor.reading.volatile must be a list of paths'],
  [{ id: [''] }, 'vendor.reading.id must be a list of paths'],
  [{ sameAs: 'snapshot_event' }, 'vendor.reading.sameAs must be a list of paths'],
  [{ spelling: 'camel' }, "vendor.reading.spelling must be 'any', got"],
  [{ fields: { subjectName: 1 } }, 'vendor.reading.fields.subjectName must be a list of paths'],
  [
    { fields: { subjectName: ['a', ''] } },
    'vendor.reading.fields.subjectName must be a list of paths',
  ],
  [
    { rules: [{ is: 'verification.approved' }] },
    'the rule for verification.approved needs values at paths',
  ],
  [
    { rules: [{ when: {}, is: 'verification.approved' }] },
    'the rule for verification.approved needs values',
  ],
  [
    { rules: [{ when: null, is: 'verification.approved' }] },
    'the rule for verification.approved needs values',
  ],
])('a reading with %j is refused', (given, message) => {
  const vendor = vendors.veriff()
  const reading = { ...vendor.reading, ...given } as unknown as Vendor['reading']
  expect(() => defineVendor({ ...vendor, reading })).toThrow(message)
})
