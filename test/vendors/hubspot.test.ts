import { createHmac } from 'node:crypto'
import { type SchemeDefinition, schemes, sign, verify } from 'idv-webhooks'
import { senders } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'

const secret = 'a-secret-of-thirty-two-characters'
const now = () => new Date(Date.UTC(2026, 4, 1, 12))
const body = new TextEncoder().encode('[{"eventId":1}]')
const scheme = senders.hubspot()

/** As HubSpot's page describes it: these escapes of the address are decoded, no others. */
const signed =
  "https://app.test/hooks/a:b/c?at=x@y&list=1,2;3&what=!$'()*?&of=50%25&name=caf%C3%A9&sum=1%2B1"
const sent =
  'https://app.test/hooks/a%3Ab%2fc%3Fat=x%40y&list=1%2C2%3b3&what=%21%24%27%28%29%2A%3F&of=50%25&name=caf%C3%A9&sum=1%2B1'

function headersFor(url: string): Record<string, string> {
  const time = String(now().getTime())
  const mac = createHmac('sha256', secret).update(`POST${url}`).update(body).update(time)
  return {
    'x-hubspot-request-timestamp': time,
    'x-hubspot-signature-v3': mac.digest('base64'),
  }
}

const outcome = async (headers: Record<string, string>, url: string) => {
  const result = await verify({ body, headers, url }, { secret, scheme, now })
  return result.ok || result.code
}

test('HubSpot signs the address with a fixed set of escapes decoded', async () => {
  expect(await outcome(headersFor(signed), sent)).toBe(true)
  expect(await outcome(headersFor(signed), signed)).toBe(true)
  const other = sent.replace('caf%C3%A9', 'café')
  expect(await outcome(headersFor(signed), other)).toBe('SIGNATURE_MISMATCH')
})

test('a signed delivery reads back, and the form survives JSON', async () => {
  const headers = await sign(body, { secret, scheme, url: sent, now })
  expect(headers).toEqual(headersFor(signed))
  const again = schemes.define(JSON.parse(JSON.stringify(scheme)))
  expect(await sign(body, { secret, scheme: again, url: sent, now })).toEqual(headers)
})

test.each([
  [{ decoded: '%3A' }, /must be a list of escapes such as '%3A'/],
  [{ decoded: [] }, /must be a list of escapes/],
  [{ decoded: ['%3a'] }, /must be a list of escapes/],
  [{ decoded: ['%25'] }, /must be a list of escapes/],
  [{ decoded: ['%C3'] }, /must be a list of escapes/],
  [{ decode: ['%3A'] }, /has no option 'decode'/],
])('a form of the address like %j is refused', (url, message) => {
  const { template: _, authenticity: __, ...definition } = scheme
  const given = { ...definition, url } as unknown as SchemeDefinition
  expect(() => schemes.define(given)).toThrow(message)
})

test('a form of an address that is not signed is refused', () => {
  const { template: _, authenticity: __, ...definition } = senders.slack()
  const given = { ...definition, url: { decoded: ['%3A'] } }
  expect(() => schemes.define(given)).toThrow('has a form of {url}, but does not sign {url}')
})
