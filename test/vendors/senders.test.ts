import { verify } from 'idv-webhooks'
import { type SenderName, senderDocuments, senders } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'
import { byHand } from './by-hand.ts'

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

/** What verify says of a delivery that was changed, or was not. */
async function outcome(name: SenderName, change: Change = {}) {
  const scheme = senders[name]()
  const given = byHand[name]
  if (!given) throw new Error(`${name} has no vector`)
  const headers = { ...given.headers(sent), ...change.headers }
  const result = await verify(
    { body: change.body ?? body, headers, url: sent.url },
    { secret: change.secret ?? given.secret, scheme, authenticity: scheme.authenticity, now },
  )
  return result.ok || result.code
}

interface Change {
  readonly body?: Uint8Array
  readonly headers?: Record<string, string>
  readonly secret?: string
}

test('every sender has a vector of its own, and a document', () => {
  expect(Object.keys(byHand).sort()).toEqual([...names].sort())
  expect(names.length).toBeGreaterThanOrEqual(40)
  for (const name of names) expect(senderDocuments[name]).toMatch(/^https:\/\//)
})

const schemeOf = (name: SenderName) => senders[name]()
const signed = names.filter((name) => schemeOf(name).authenticity === 'signature')
const timed = names.filter((name) => schemeOf(name).timestamp?.header !== undefined)
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

test.each(timed)('%s is refused with a second more in its time', async (name) => {
  const { header = '', format } = schemeOf(name).timestamp ?? {}
  const time = byHand[name]?.headers(sent)[header.toLowerCase()] as string
  const later = format === 'iso8601' ? time.replace(':00:00', ':00:01') : next(time)
  expect(later).not.toBe(time)
  expect(await outcome(name, { headers: { [header.toLowerCase()]: later } })).toBe(
    'SIGNATURE_MISMATCH',
  )
})

test.each(named)('%s is refused with another id', async (name) => {
  const header = schemeOf(name).id?.header.toLowerCase() as string
  expect(await outcome(name, { headers: { [header]: 'msg_2LqJ8' } })).toBe('SIGNATURE_MISMATCH')
})

const next = (digits: string) => String(Number(digits) + (digits.length > 10 ? 1000 : 1))

test('a time outside the tolerance is refused, in every format', async () => {
  for (const name of ['slack', 'workos', 'zendesk', 'twitch', 'box', 'paddle'] as const) {
    const scheme = senders[name]()
    const given = byHand[name]
    const late = () => new Date(at + 601_000)
    const headers = given?.headers(sent) ?? {}
    const result = await verify({ body, headers }, { secret: given?.secret, scheme, now: late })
    expect(result.ok || result.code, name).toBe('TIMESTAMP_OUTSIDE_TOLERANCE')
  }
})
