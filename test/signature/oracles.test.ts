// Four other implementations as oracles: what they sign we accept, what we sign they accept, and of
// a delivery that was tampered with both say the same, but for the differences named here.
import { Webhooks } from '@octokit/webhooks'
import fc from 'fast-check'
import { type Scheme, schemes, sign, verify } from 'idv-webhooks'
import { Webhook as StandardWebhook } from 'standardwebhooks'
import Stripe from 'stripe'
import { Webhook as SvixWebhook } from 'svix'
import { expect, test } from 'vitest'

type Headers = Record<string, string>

interface Oracle {
  readonly name: string
  readonly scheme: Scheme
  readonly secret: string
  readonly otherSecret: string
  readonly header: string
  accepts(body: string, headers: Headers): boolean | Promise<boolean>
  /** Deliberate differences: the peer accepts them and this package does not, or the reverse. */
  differs?(headers: Headers, age: number): boolean
}

const text = 'a-secret-that-both-sides-know'
const whsec = `whsec_${Buffer.from(text).toString('base64')}`
const otherWhsec = `whsec_${Buffer.from(`${text}-not`).toString('base64')}`
const stripe = new Stripe('sk_test_oracle')

const accepted = (work: () => unknown) => {
  try {
    work()
    return true
  } catch {
    return false
  }
}

const oracles: readonly Oracle[] = [
  {
    name: 'stripe',
    scheme: schemes.timestamped({ header: 'Stripe-Signature' }),
    secret: text,
    otherSecret: `${text}-not`,
    header: 'stripe-signature',
    accepts: (body, headers) =>
      accepted(() =>
        stripe.webhooks.signature?.verifyHeader(body, headers['stripe-signature'] ?? '', text, 300),
      ),
    // It takes any time in the future; we look both ways. We take upper-case hex.
    differs: (headers, age) => age < -300 || /[A-F]/.test(headers['stripe-signature'] ?? ''),
  },
  {
    name: 'standardwebhooks',
    scheme: schemes.standardWebhooks(),
    secret: whsec,
    otherSecret: otherWhsec,
    header: 'webhook-signature',
    accepts: (body, headers) =>
      accepted(() => new StandardWebhook(whsec).verify(body, headers, { jsonParse: false })),
  },
  {
    name: 'svix',
    scheme: schemes.standardWebhooks({ header: 'svix' }),
    secret: whsec,
    otherSecret: otherWhsec,
    header: 'svix-signature',
    accepts: (body, headers) => accepted(() => new SvixWebhook(whsec).verify(body, headers)),
  },
  {
    name: 'octokit',
    scheme: schemes.define({
      name: 'github',
      header: 'X-Hub-Signature-256',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: { prefix: 'sha256=' },
      signed: '{body}',
    }),
    secret: text,
    otherSecret: `${text}-not`,
    header: 'x-hub-signature-256',
    accepts: async (body, headers) => {
      const signature = headers['x-hub-signature-256'] ?? ''
      try {
        return await new Webhooks({ secret: text }).verify(body, signature)
      } catch {
        return false
      }
    },
    // It reads one signature in lower case; we take upper case and, for rotation, several.
    differs: (headers) => /[A-F]|[ ,]/.test(headers['x-hub-signature-256'] ?? ''),
  },
]

const lowerCased = (headers: Headers): Headers =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** Bodies that no library may mistake: replacement patterns, escapes, letters of every script. */
const bodies = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).filter((body) => body.isWellFormed()),
  fc.constantFrom('{"a":"$&"}', '{"a":"$$"}', '{ "a": 1.0 }', '{"é":"\\u00e9"}', '[1e3]', ' {}\n'),
)

type Tampering = (headers: Headers, oracle: Oracle) => Headers

const change = (by: (value: string) => string): Tampering => {
  return (headers, { header }) => ({ ...headers, [header]: by(headers[header] ?? '') })
}

const tamperings: Readonly<Record<string, Tampering>> = {
  nothing: (headers) => headers,
  'no signature': (headers, { header }) => {
    const { [header]: _, ...rest } = headers
    return rest
  },
  'an empty signature': change(() => ''),
  'a cut signature': change((value) => value.slice(0, -1)),
  'a longer signature': change((value) => `${value}0`),
  'a flipped letter': change((value) =>
    value.replace(/([0-9a-zA-Z])([^0-9a-zA-Z]*)$/, (_, last: string, rest: string) => {
      return `${last === '1' ? '2' : '1'}${rest}`
    }),
  ),
  'no prefix': change((value) => value.replace(/^[a-z0-9]+[=,]/, '')),
  'another prefix': change((value) => value.replace(/^([a-z0-9]+)([=,])/, 'v9$2')),
  'upper case': change((value) => value.toUpperCase()),
  'twice the same': change((value) => `${value} ${value}`),
  'a wrong one before': (headers, oracle) => before(headers, oracle),
}

/** A foreign signature before the genuine one, as while a secret is rotated. */
function before(headers: Headers, { header, name }: Oracle): Headers {
  const value = headers[header] ?? ''
  const wrong = {
    stripe: value.replace(/,v1=/, `,v1=${'0'.repeat(64)},v1=`),
    octokit: value,
  }[name]
  return { ...headers, [header]: wrong ?? `v1,${'A'.repeat(43)}= ${value}` }
}

const cases = fc.record({
  body: bodies,
  tampering: fc.constantFrom(...Object.keys(tamperings)),
  age: fc.oneof(
    { weight: 5, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.integer({ min: -600, max: 600 }) },
  ),
  byOther: fc.boolean().map((one) => one),
  otherBody: fc.constantFrom(false, false, false, true),
})

test.each(oracles)('$name and this package agree on every delivery', async (oracle) => {
  const verdicts = { accepted: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(cases, async ({ body, tampering, age, byOther, otherBody }) => {
      // The edge of the tolerance moves while the test runs.
      fc.pre(Math.abs(Math.abs(age) - 300) > 5)
      const secret = byOther && tampering === 'nothing' ? oracle.otherSecret : oracle.secret
      const now = () => new Date(Date.now() - age * 1_000)
      const bytes = new TextEncoder().encode(body)
      const signed = lowerCased(await sign(bytes, { secret, scheme: oracle.scheme, now }))
      const headers = tamperings[tampering]?.(signed, oracle) ?? signed
      const arrived = otherBody ? `${body} ` : body
      const ours = await verify(
        { body: new TextEncoder().encode(arrived), headers },
        { secret: oracle.secret, scheme: oracle.scheme },
      )
      const theirs = await oracle.accepts(arrived, headers)
      if (!oracle.differs?.(headers, age)) expect({ ok: ours.ok }).toEqual({ ok: theirs })
      if (ours.ok) verdicts.accepted++
      else verdicts.refused++
    }),
    { numRuns: 400 },
  )
  // A property that never accepts, or never refuses, would hold nothing.
  expect(verdicts.accepted).toBeGreaterThan(20)
  expect(verdicts.refused).toBeGreaterThan(20)
})

test('stripe signs what this package accepts', async () => {
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const header = stripe.webhooks.generateTestHeaderString({ payload: body, secret: text })
      const delivery = {
        body: new TextEncoder().encode(body),
        headers: { 'stripe-signature': header },
      }
      const scheme = schemes.timestamped({ header: 'Stripe-Signature' })
      expect(await verify(delivery, { secret: text, scheme })).toMatchObject({ ok: true })
    }),
  )
})

test('standardwebhooks and svix sign what this package accepts', async () => {
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const now = new Date()
      for (const [Webhook, prefix] of [
        [StandardWebhook, 'webhook'],
        [SvixWebhook, 'svix'],
      ] as const) {
        const signature = new Webhook(whsec).sign('msg_1', now, body)
        const delivery = {
          body: new TextEncoder().encode(body),
          headers: {
            [`${prefix}-id`]: 'msg_1',
            [`${prefix}-timestamp`]: String(Math.floor(now.getTime() / 1_000)),
            [`${prefix}-signature`]: signature,
          },
        }
        const scheme = schemes.standardWebhooks({ header: prefix })
        expect(await verify(delivery, { secret: whsec, scheme })).toMatchObject({ ok: true })
      }
    }),
  )
})

/** The spellings of a secret, by issuer. */
const spellings: Readonly<Record<string, (base64: string) => string>> = {
  'with its prefix': (base64) => `whsec_${base64}`,
  'without prefix': (base64) => base64,
  'without padding': (base64) => `whsec_${base64.replace(/=+$/, '')}`,
  'in the url alphabet': (base64) => `whsec_${base64.replaceAll('+', '-').replaceAll('/', '_')}`,
  'with the version before it': (base64) => `v1,whsec_${base64}`,
}

test('every spelling of a secret that standardwebhooks or svix takes is the same key here', async () => {
  const taken = new Set<string>()
  const keys = fc.uint8Array({ minLength: 24, maxLength: 64 })
  await fc.assert(
    fc.asyncProperty(keys, fc.constantFrom(...Object.keys(spellings)), async (bytes, spelling) => {
      const secret = spellings[spelling]?.(Buffer.from(bytes).toString('base64')) ?? ''
      const now = new Date()
      for (const [Webhook, prefix] of [
        [StandardWebhook, 'webhook'],
        [SvixWebhook, 'svix'],
      ] as const) {
        let signature: string
        try {
          signature = new Webhook(secret).sign('msg_1', now, '{}')
        } catch {
          continue
        }
        taken.add(`${prefix} ${spelling}`)
        const headers = {
          [`${prefix}-id`]: 'msg_1',
          [`${prefix}-timestamp`]: String(Math.floor(now.getTime() / 1_000)),
          [`${prefix}-signature`]: signature,
        }
        const scheme = schemes.standardWebhooks({ header: prefix })
        const result = await verify({ body: Buffer.from('{}'), headers }, { secret, scheme })
        expect({ spelling, ok: result.ok }).toEqual({ spelling, ok: true })
      }
    }),
    { numRuns: 200 },
  )
  expect(taken.has('webhook with its prefix') && taken.has('svix without prefix')).toBe(true)
})
