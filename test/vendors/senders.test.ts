import { type Scheme, verify } from 'idv-webhooks'
import { type SenderName, senders } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'
import { byHand, secretFor } from './by-hand.ts'
import { senderDocuments } from './sender-documents.ts'

const at = Date.UTC(2026, 4, 1, 12)
const now = () => new Date(at + 2000)
const body = Buffer.from('{"type":"client.created","data":{"id":"cli_1","note":"café"}}')
const sent = { body, at, id: 'msg_2LqJ7', url: 'https://app.test/webhooks' }
const names = Object.keys(senders) as SenderName[]

const flipped = (bytes: Uint8Array, bit: number) => {
  const changed = Uint8Array.from(bytes)
  changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return changed
}

/** The result of verify for a delivery, changed or not. */
async function outcome(name: SenderName, change: Change = {}) {
  const scheme = senders[name]()
  const given = byHand[name]
  if (!given) throw new Error(`${name} has no vector`)
  const headers = { ...given.headers(sent), ...change.headers }
  const result = await verify(
    { body: change.body ?? body, headers, url: sent.url },
    {
      secret: secretFor(scheme, change.secret ?? given.secret),
      scheme,
      authenticity: scheme.authenticity,
      now,
    },
  )
  return result.ok || result.code
}

interface Change {
  readonly body?: Uint8Array
  readonly headers?: Record<string, string>
  readonly secret?: string
}

test('every sender has its own vector, and a document', () => {
  expect(Object.keys(byHand).sort()).toEqual([...names].sort())
  expect(names.length).toBeGreaterThanOrEqual(40)
  for (const name of names) expect(senderDocuments[name]).toMatch(/^https:\/\//)
})

const schemeOf = (name: SenderName) => senders[name]()
const signed = names.filter((name) => schemeOf(name).authenticity === 'signature')
const timed = names.filter((name) => schemeOf(name).signed.includes('{timestamp}'))
const named = names.filter((name) => schemeOf(name).id !== undefined)

test.each(names)('%s is accepted as node:crypto signs it', async (name) => {
  expect(await outcome(name)).toBe(true)
})

test.each(signed)('%s is refused with any bit of its body changed', async (name) => {
  for (const bit of [0, 77, body.length * 8 - 1]) {
    expect(await outcome(name, { body: flipped(body, bit) })).toBe('SIGNATURE_MISMATCH')
  }
})

test.each(names)('%s is refused with another key', async (name) => {
  const other = byHand[name]?.other ?? 'b-secret-of-thirty-two-characters'
  expect(other).not.toBe(byHand[name]?.secret)
  expect(await outcome(name, { secret: other })).toBe('SIGNATURE_MISMATCH')
})

test.each(names)('%s is refused with one bit of its key changed', async (name) => {
  const given = byHand[name]?.secret ?? ''
  for (const bit of [0, 83]) {
    const secret = keyWithout(bit, given, schemeOf(name))
    expect(secret).not.toBe(given)
    // One bit of a public key may leave no key at all: WebCrypto tells when the key is first used.
    const answer = await outcome(name, { secret }).catch((error) => error.code)
    expect(['SIGNATURE_MISMATCH', 'SECRET_INVALID', 'SECRET_UNAVAILABLE']).toContain(answer)
  }
})

test.each(timed)('%s is refused with one bit of its time changed', async (name) => {
  const { headers, later } = withLaterTime(name)
  expect(later).toBe(true)
  expect(await outcome(name, { headers })).toBe('SIGNATURE_MISMATCH')
})

test.each(named)('%s is refused with one bit of its id changed', async (name) => {
  const header = schemeOf(name).id?.header.toLowerCase() as string
  expect(await outcome(name, { headers: { [header]: 'msg_2LqJ6' } })).toBe('SIGNATURE_MISMATCH')
})

/** The secret with one bit of the key changed, in the form in which it was. */
function keyWithout(bit: number, secret: string, { key }: Scheme): string {
  if (key === 'utf8') return Buffer.from(flipped(Buffer.from(secret), bit & ~6)).toString()
  if (key === 'hex') return Buffer.from(flipped(Buffer.from(secret, 'hex'), bit)).toString('hex')
  const [, mark = '', base64 = '', end = ''] =
    /^((?:v1,)?wh[sp][ek][ck]?_|-----BEGIN PUBLIC KEY-----)?([^-]*)(.*)$/s.exec(secret) ?? []
  // Behind the header of a DER, so that what changes is the key.
  const bytes = Buffer.from(base64, 'base64')
  const at = key === 'pem' || bytes.length > 40 ? bytes.length * 8 - 40 - bit : bit
  return mark + Buffer.from(flipped(bytes, at)).toString('base64') + end
}

/** The last digit of the time, which is even, one more. */
function withLaterTime(name: SenderName) {
  const scheme = schemeOf(name)
  const headers = byHand[name]?.headers(sent) ?? {}
  const { header = scheme.header, format } = scheme.timestamp ?? {}
  const key = header.toLowerCase()
  const before = headers[key] ?? ''
  const time = String(format === 'milliseconds' ? at : at / 1000)
  const after =
    format === 'iso8601'
      ? before.replace(':00:00', ':00:01')
      : before.replace(time, `${time.slice(0, -1)}1`)
  return { headers: { ...headers, [key]: after }, later: after !== before }
}

test('a time outside the tolerance is refused, in every format', async () => {
  for (const name of ['slack', 'workos', 'zendesk', 'twitch', 'box', 'paddle'] as const) {
    const scheme = senders[name]()
    const given = byHand[name]
    const late = () => new Date(at + 601_000)
    const headers = given?.headers(sent) ?? {}
    const result = await verify(
      { body, headers },
      { secret: secretFor(scheme, given?.secret ?? ''), scheme, now: late },
    )
    expect(result.ok || result.code, name).toBe('TIMESTAMP_OUTSIDE_TOLERANCE')
  }
})
