import { createReceiver, createWorker, type Observation, schemes, sign, verify } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { describe, expect, test } from 'vitest'

const secret = 'a-token-that-both-sides-know'
const body = new TextEncoder().encode('{"event":"verification.approved","data":{"id":"ver_1"}}')
const token = schemes.token({ header: 'X-Token' })
const bearer = schemes.token({ header: 'Authorization', prefix: 'Bearer ' })

describe('a shared token', () => {
  test('is taken only by a receiver that asks for it by name', async () => {
    const refused = () => createReceiver({ secret, scheme: token })
    expect(refused).toThrow(expect.objectContaining({ code: 'SCHEME_INVALID' }))
    expect(refused).toThrow("authenticity: 'token'")
    const verifying = verify({ body, headers: {} }, { secret, scheme: token })
    await expect(verifying).rejects.toMatchObject({ code: 'SCHEME_INVALID' })
    const other = () => createReceiver({ secret, authenticity: 'token' })
    expect(other).toThrow("authenticity: 'signature'")
    const unknown = () => createReceiver({ secret, authenticity: 'tokn' as never })
    expect(unknown).toThrow("Did you mean 'token'")
  })

  test('is told as such to outcome, context and observers', async () => {
    const seen: Observation[] = []
    const levels: unknown[] = []
    const receiver = createReceiver({
      secret,
      scheme: token,
      authenticity: 'token',
      observe: (one) => seen.push(one),
    })
    receiver.on('verification.approved', (_, context) => {
      levels.push(context.authenticity, context.delivery.authenticity)
    })
    const outcome = await receiver.receive({ body, headers: { 'x-token': secret } })
    expect(outcome).toMatchObject({ kind: 'handled', authenticity: 'token' })
    expect(levels).toEqual(['token', 'token'])
    expect(seen.find(({ type }) => type === 'outcome')).toMatchObject({ authenticity: 'token' })
  })

  test('is told of every attempt too, with an inbox as without', async () => {
    for (const inbox of [undefined, createInbox({ store: memoryStore() })]) {
      const seen: unknown[] = []
      const receiver = createReceiver({
        secret,
        scheme: token,
        authenticity: 'token',
        ...(inbox && { inbox }),
        observe: (one) => seen.push('authenticity' in one && [one.type, one.authenticity]),
      })
      receiver.on('verification.approved', (_, context) => seen.push(context.authenticity))
      const outcome = await receiver.receive({ body, headers: { 'x-token': secret } })
      expect(outcome.authenticity).toBe('token')
      if (inbox) await createWorker(receiver).runOnce()
      const [told, attempt] = [
        ['outcome', 'token'],
        ['attempt', 'token'],
      ]
      const expected = inbox ? [told, 'token', attempt] : ['token', attempt, told]
      expect(seen.filter((one) => one !== false)).toEqual(expected)
    }
  })

  test('is neither kept nor handed on: it is the secret', async () => {
    const inbox = createInbox({ store: memoryStore() })
    const receiver = createReceiver({ secret, scheme: token, authenticity: 'token', inbox })
    await receiver.receive({ body, headers: { 'X-Token': secret, 'x-other': 'kept' } })
    const { entries } = await inbox.find()
    const entry = await inbox.get(entries[0]?.id ?? '', { withDelivery: true })
    expect(entry?.delivery?.headers).toEqual([['x-other', 'kept']])
  })

  test('is compared whole: no part, no other case, nothing around it', async () => {
    for (const [scheme, header, value] of [
      [token, 'x-token', secret],
      [bearer, 'authorization', `Bearer ${secret}`],
    ] as const) {
      const told = async (given: string) => {
        const headers = { [header]: given }
        const options = { secret, scheme, authenticity: 'token' } as const
        const result = await verify({ body, headers }, options)
        return result.ok || result.code
      }
      expect(await told(value)).toBe(true)
      for (const wrong of [
        value.slice(0, -1),
        `${value}x`,
        value.toUpperCase(),
        `${value},${value}`,
      ]) {
        expect(await told(wrong), wrong).not.toBe(true)
      }
      expect(await told('')).toBe('SIGNATURE_MISSING')
      expect(await told('x'.repeat(5000))).toBe('SIGNATURE_MALFORMED')
    }
  })

  test('never passes for a signature, nor a signature for it', async () => {
    const signed = await sign(body, { secret })
    const withToken = { body, headers: { 'x-service-signature': secret } }
    expect(await verify(withToken, { secret })).toMatchObject({ ok: false })
    const scheme = schemes.token({ header: 'X-Service-Signature' })
    const options = { secret, scheme, authenticity: 'token' } as const
    expect(await verify({ body, headers: signed }, options)).toMatchObject({ ok: false })
  })
})

test('a signature is told as such', async () => {
  const result = await verify({ body, headers: await sign(body, { secret }) }, { secret })
  expect(result).toMatchObject({ ok: true, authenticity: 'signature' })
})

describe('an address', () => {
  const allow = ['203.0.113.0/24', '2001:db8::/48']
  const receiverBehind = (proxies: number) =>
    createReceiver({
      secret: undefined,
      scheme: schemes.ip({ allow, proxies }),
      authenticity: 'ip',
    })
  const told = async (proxies: number, address: string | undefined, forwarded?: string[]) => {
    const headers = forwarded ? { 'x-forwarded-for': forwarded } : {}
    const outcome = await receiverBehind(proxies).receive({ body, headers, address })
    return outcome.kind === 'rejected' ? outcome.code : outcome.authenticity
  }

  test('of the socket counts if no proxy is declared, whatever the header says', async () => {
    expect(await told(0, '203.0.113.9')).toBe('ip')
    expect(await told(0, '::ffff:203.0.113.9')).toBe('ip')
    expect(await told(0, '2001:db8:0:1::1')).toBe('ip')
    expect(await told(0, '198.51.100.1', ['203.0.113.9'])).toBe('ADDRESS_NOT_ALLOWED')
    expect(await told(0, undefined, ['203.0.113.9'])).toBe('ADDRESS_NOT_ALLOWED')
  })

  test('behind proxies is the one that the outermost declared proxy saw', async () => {
    const proxy = '10.0.0.1'
    expect(await told(1, proxy, ['203.0.113.9'])).toBe('ip')
    expect(await told(1, proxy, ['198.51.100.1, 203.0.113.9'])).toBe('ip')
    // An unauthenticated client wrote the entries further left.
    expect(await told(1, proxy, ['203.0.113.9, 198.51.100.1'])).toBe('ADDRESS_NOT_ALLOWED')
    expect(await told(1, proxy, ['203.0.113.9', '198.51.100.1'])).toBe('ADDRESS_NOT_ALLOWED')
    expect(await told(2, proxy, ['203.0.113.9, 10.0.0.2'])).toBe('ip')
    expect(await told(2, proxy, ['203.0.113.9'])).toBe('ADDRESS_NOT_ALLOWED')
    expect(await told(1, '203.0.113.9')).toBe('ADDRESS_NOT_ALLOWED')
  })

  test('is answered 403 when it is another', async () => {
    const reply = await receiverBehind(0).handle({
      method: 'POST',
      headers: {},
      address: '198.51.100.1',
      read: async () => body,
    })
    expect(reply.status).toBe(403)
  })

  test('list is checked when the scheme is made', () => {
    for (const wrong of [[], ['203.0.113.0/33'], ['203.0.113'], ['x'], ['1.2.3.4/x'], ['::/129']]) {
      expect(() => schemes.ip({ allow: wrong, proxies: 0 })).toThrow(
        expect.objectContaining({ code: 'SCHEME_INVALID' }),
      )
    }
    expect(() => schemes.ip({ allow, proxies: -1 })).toThrow('proxies')
  })

  const allows = (range: string, peer: string) =>
    schemes.ip({ allow: [range], proxies: 0 }).addresses?.allows(peer, [])

  test('ranges hold to the bit', () => {
    expect(allows('10.1.2.0/25', '10.1.2.127')).toBe(true)
    expect(allows('10.1.2.0/25', '10.1.2.128')).toBe(false)
    expect(allows('2001:db8::/65', '2001:db8::8000:0:0:0')).toBe(false)
    expect(allows('2001:db8::1', '2001:db8::1')).toBe(true)
    expect(allows('0.0.0.0/0', '255.255.255.255')).toBe(true)
    expect(allows('0.0.0.0/0', '::1')).toBe(false)
  })

  test('texts that are none are refused', () => {
    for (const text of [
      ...['', '1.2.3', '1.2.3.256', '01.2.3.4', '1::2::3', ':::', 'g::1', '1:2:3', '12345::'],
    ]) {
      expect(allows('::/0', text), text).toBe(false)
    }
  })

  test('may come with a port behind proxies', () => {
    const { addresses } = schemes.ip({ allow, proxies: 1 })
    expect(addresses?.allows('p', ['[2001:db8::1]:443'])).toBe(true)
    expect(addresses?.allows('p', ['203.0.113.9:443'])).toBe(true)
  })
})
