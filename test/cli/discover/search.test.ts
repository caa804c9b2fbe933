import { type SchemeDefinition, schemes, sign, verify } from 'idv-webhooks'
import { describe, expect, test } from 'vitest'
import type { NamedCapture } from '../../../tools/cli/capture-files.ts'
import { searchScheme } from '../../../tools/cli/discover/search.ts'
import { captured, type Sender, senders } from './senders.ts'

const search = (captures: readonly NamedCapture[], secret: string, url?: string, header?: string) =>
  searchScheme({
    captures,
    secrets: [{ id: 'test', value: secret }],
    url,
    header,
    templates: [],
    signal: new AbortController().signal,
  })

/** The scheme as a sender states it; header names are in lower case once they have arrived. */
const stated = ({ name: _, ...scheme }: SchemeDefinition) => ({
  ...scheme,
  header: String(scheme.header).toLowerCase(),
  ...(scheme.timestamp?.header && {
    timestamp: { header: scheme.timestamp.header.toLowerCase() },
  }),
  ...(scheme.id && { id: { header: scheme.id.header.toLowerCase() } }),
})

const sender = (change: Partial<SchemeDefinition> = {}): Pick<Sender, 'scheme' | 'secret'> => ({
  secret: 'a secret of words',
  scheme: {
    name: 'test',
    header: 'X-Signature',
    algorithm: 'sha256',
    key: 'utf8',
    encoding: 'hex',
    grammar: 'plain',
    signed: '{body}',
    ...change,
  },
})

test('there are senders enough', () => {
  expect(senders.length).toBeGreaterThan(60)
})

test.each(senders)('one capture tells the scheme: $name', async ({ scheme, secret }) => {
  const found = await search([await captured({ scheme, secret })], secret)
  if (found.result !== 'found') throw new Error(JSON.stringify(found))
  const { name: _, ...told } = found.scheme
  expect(told).toEqual(stated(scheme))
})

test("the found scheme verifies the sender's next delivery", async () => {
  for (const { scheme, secret } of senders) {
    const found = await search([await captured({ scheme, secret })], secret)
    if (found.result !== 'found') throw new Error(found.result)
    const now = () => new Date('2026-04-01T00:00:00Z')
    const [body, url] = [new TextEncoder().encode('{"event":"client.created"}'), 'https://a.test/']
    const headers = await sign(body, { secret, scheme: schemes.define(scheme), now, url })
    const means = { secret, scheme: schemes.define(found.scheme), now }
    expect((await verify({ body, headers, url }, means)).ok).toBe(true)
  }
})

describe('schemes that the captures cannot distinguish are ambiguous', () => {
  const timed = sender({ signed: '{timestamp}.{body}', timestamp: { header: 'X-Time' } })
  const seconds = (at: string) => String(Date.parse(at) / 1000)

  test('until one more capture tells two times apart', async () => {
    const [first, second] = ['2026-03-01T10:00:00Z', '2026-03-02T10:00:00Z']
    const same = await captured(timed, { at: first, headers: [['X-Sent', seconds(first)]] })
    const other = await captured(timed, { at: second, headers: [['X-Sent', seconds(first)]] })
    const ambiguous = await search([same], timed.secret)
    expect(ambiguous).toMatchObject({ result: 'ambiguous' })
    expect(ambiguous.result === 'ambiguous' && ambiguous.fits.length).toBe(2)
    expect(await search([same, other], timed.secret)).toMatchObject({
      result: 'found',
      scheme: { timestamp: { header: 'x-time' } },
    })
  })

  test('and so are two headers with one id', async () => {
    const ided = sender({ signed: '{id}.{body}', id: { header: 'X-Delivery-Id' } })
    const headers = [['X-Message-Id', 'dlv_81c2']] as const
    expect(await search([await captured(ided, { headers })], ided.secret)).toMatchObject({
      result: 'ambiguous',
    })
  })
})

describe('an id is none', () => {
  const ided = sender({ signed: '{id}.{body}', id: { header: 'X-Tenant' } })
  const events = ['{"event":"client.created"}', '{"event":"client.updated"}']
  const capturesOf = (ids: readonly string[]) =>
    Promise.all(
      ids.map((id, at) => captured(ided, { id, ...(events[at] && { body: events[at] }) })),
    )

  test('where it is the same for every event', async () => {
    const found = await search(await capturesOf(['acme', 'acme']), ided.secret)
    expect(found).toEqual({ result: 'no-match' })
  })

  test.each(['1772359200', '1772359200000', '2026-03-01T10:00:00Z', '1772359200.25'])(
    'where it reads as a time: %s',
    async (id) => {
      const found = await search(await capturesOf([id]), ided.secret)
      expect(found.result === 'found' && found.scheme.id).not.toBeTruthy()
    },
  )

  test('but a guess while one event is known, however often it came', async () => {
    const [one, other] = await capturesOf(['evt_1', 'evt_2'])
    if (!one || !other) throw new Error()
    expect(await search([one], ided.secret)).toMatchObject({ result: 'found', idIsGuess: true })
    expect(await search([one, one], ided.secret)).toMatchObject({ idIsGuess: true })
    expect(await search([one, other], ided.secret)).toMatchObject({
      result: 'found',

      scheme: { id: { header: 'x-tenant' } },
    })
  })
})

describe('a signature that no scheme can express', () => {
  const digest = 'a'.repeat(64)
  test.each([
    ['a message signature (RFC 9421)', ['Signature', `sig1=:${digest}:`]],
    ['a signature made with a key pair', ['X-Signature', 'Zm9v'.repeat(86)]],
    ['a header with an unknown grammar', ['X-Signature', 'a=1|b=2']],
  ] as const)('is not reported as missing: %s', async (_, header) => {
    const bare = await captured(sender({ header: 'X-Unused' }), { headers: [header] })
    const headers = bare.delivery.headers.filter(([name]) => name !== 'x-unused')
    const found = await search([{ ...bare, delivery: { ...bare.delivery, headers } }], 'secret')
    expect(found).toEqual({ result: 'no-match' })
  })
})

describe('nothing is found', () => {
  test('where no header could be a signature', async () => {
    const bare = await captured(sender())
    const headers = bare.delivery.headers.filter(([name]) => name !== 'x-signature')
    const unsigned = { ...bare, file: 'bare.json', delivery: { ...bare.delivery, headers } }
    expect(await search([unsigned], 'a secret of words')).toEqual({
      result: 'no-signature',
      files: ['bare.json'],
    })
    expect(await search([bare, unsigned], 'a secret of words')).toEqual({
      result: 'no-signature',
      files: ['bare.json'],
    })
  })

  test('under another secret', async () => {
    expect(await search([await captured(sender())], 'another secret')).toEqual({
      result: 'no-match',
    })
  })

  test('when the captures are of two senders', async () => {
    const other = sender({ encoding: 'base64' })
    const captures = [await captured(sender()), await captured(other)]
    expect(await search(captures, other.secret)).toEqual({ result: 'no-match' })
  })
})

test('if two headers are signed alike, either is enough, and the user can choose one', async () => {
  const other = sender({ header: 'X-Other-Signature', encoding: 'base64' })
  const headers = (await captured(other)).delivery.headers.filter(([name]) => /other/.test(name))
  const both = await captured(sender(), { headers })
  const found = await search([both], other.secret)
  expect(found).toMatchObject({
    result: 'ambiguous',
    headers: expect.arrayContaining(['x-signature', 'x-other-signature']),
  })
  expect(await search([both], other.secret, undefined, 'X-Signature')).toMatchObject({
    result: 'found',
    scheme: { header: 'x-signature', encoding: 'hex' },
  })
})

test('of two signatures the stronger is printed, and the weaker is marked', async () => {
  const weak = sender({ header: 'X-Sig', algorithm: 'sha1', grammar: { prefix: 'sha1=' } })
  const weakHeaders = (await captured(weak)).delivery.headers.filter(([name]) => name === 'x-sig')
  const both = await captured(sender(), { headers: weakHeaders })
  expect(await search([both], 'a secret of words')).toMatchObject({
    result: 'found',
    scheme: { header: 'x-signature', algorithm: 'sha256' },
    hasWeaker: true,
  })
})

test('a time in the signature wins over a header that repeats it', async () => {
  const paired = sender({
    grammar: { pairs: { signature: 'v1', timestamp: 't' } },
    signed: '{timestamp}.{body}',
  })
  const headers = [['X-Time', String(Date.parse('2026-03-01T10:00:00Z') / 1000)]] as const
  expect(await search([await captured(paired, { headers })], paired.secret)).toMatchObject({
    result: 'found',
    scheme: { grammar: { pairs: { timestamp: 't' } } },
  })
})

test('padded base64url is told from base64 by a capture that shows its letters', async () => {
  const encoded = sender({ encoding: 'base64url' })
  const pad = (capture: NamedCapture): NamedCapture => {
    const headers = capture.delivery.headers.map(
      ([name, value]) => [name, name === 'x-signature' ? `${value}=` : value] as const,
    )
    return { ...capture, delivery: { ...capture.delivery, headers } }
  }
  const bodies = Array.from({ length: 8 }, (_, at) => `{"n":${at}}`)
  const captures = await Promise.all(
    bodies.map(async (body) => pad(await captured(encoded, { body }))),
  )
  expect(await search(captures, encoded.secret)).toMatchObject({
    result: 'found',
    scheme: { encoding: 'base64url' },
  })
})

test('the address that a tunnel hides can be given', async () => {
  const addressed = sender({ signed: '{url}{body}' })
  const capture = await captured(addressed, { url: 'https://public.example/hooks' })
  const inside = {
    ...capture,
    delivery: { ...capture.delivery, url: 'http://127.0.0.1:4000/hooks' },
  }
  expect(await search([inside], addressed.secret)).toEqual({ result: 'no-match' })
  expect(await search([inside], addressed.secret, 'https://public.example/hooks')).toMatchObject({
    result: 'found',
  })
})
