import { createReceiver, parse, schemes, verify } from 'idv-webhooks'
import {
  canonicalName,
  clientSchema,
  eventNames,
  legacyNames,
  verificationSchema,
} from 'idv-webhooks/protocol'
import {
  fakeClock,
  fixture,
  recordHandlers,
  signedDelivery,
  tamperings,
  testSecret,
} from 'idv-webhooks/testing'
import { vendors } from 'idv-webhooks/vendors'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

const secret = testSecret

describe('fixture', () => {
  test.each([...eventNames, ...legacyNames])(
    'the fixture of %s is complete and exactly as documented',
    async (name) => {
      const event = fixture(name)
      const schema = name.startsWith('client.') ? clientSchema : verificationSchema
      expect(z.strictObject(schema.shape).parse(event.data)).toEqual(event.data)
      const result = await verify(await signedDelivery(event), { secret })
      const parsed = result.ok ? parse(result) : result
      expect(parsed).toMatchObject({
        ok: true,
        event: { name: canonicalName(name), receivedName: name, known: true, id: event.id },
      })
      expect(parsed.ok && parsed.event.issues).toBeUndefined()
      expect(fixture(name)).toEqual(event)
    },
  )

  test('fixture takes changes of the envelope and of single fields', () => {
    const event = fixture('verification.approved', {
      id: 'evt_9',
      data: { id: 'ver_9', extra: true },
    })
    expect(event).toMatchObject({
      id: 'evt_9',
      event: 'verification.approved',
      data: { id: 'ver_9', status: 'approved', extra: true, type: 'kyc' },
    })
  })

  test('fixture refuses an unknown name and suggests the closest one', () => {
    expect(() => fixture('verification.aproved' as never)).toThrow("'verification.approved'")
  })
})

const timed = schemes.timestamped()
const all = [schemes.service(), timed, schemes.standardWebhooks()]

describe('signedDelivery', () => {
  test.each(all)('a signed delivery verifies under scheme $name', async (scheme) => {
    const receiver = createReceiver({ secret, scheme })
    const delivery = await signedDelivery(fixture('client.created'), { scheme })
    expect(await receiver.receive(delivery)).toMatchObject({ kind: 'ignored' })
  })

  test('signedDelivery takes an event, JSON text or exact bytes', async () => {
    const text = '{ "event": "client.created" }'
    for (const event of [text, new TextEncoder().encode(text)]) {
      const { body } = await signedDelivery(event)
      expect(new TextDecoder().decode(body)).toBe(text)
    }
  })

  test('a header that the scheme signs is signed, and occurs in the delivery once', async () => {
    const scheme = schemes.define({ ...schemes.service(), signed: '{header:x-request}.{body}' })
    const headers = { 'X-Request': 'r-7', 'X-Note': 'n' }
    const delivery = await signedDelivery(fixture('client.created'), { scheme, headers })
    expect(delivery.headers).toMatchObject({ 'x-request': 'r-7', 'X-Note': 'n' })
    expect(delivery.headers).not.toHaveProperty('X-Request')
    const receiver = createReceiver({ secret, scheme })
    expect(await receiver.receive(delivery)).toMatchObject({ kind: 'ignored' })
  })

  const codes = {
    tampered: 'SIGNATURE_MISMATCH',
    unsigned: 'SIGNATURE_MISSING',
    malformed: 'SIGNATURE_MALFORMED',
    'wrong-secret': 'SIGNATURE_MISMATCH',
    stale: 'TIMESTAMP_OUTSIDE_TOLERANCE',
    truncated: 'SIGNATURE_MISMATCH',
    reserialized: 'SIGNATURE_MISMATCH',
  } as const

  test.each(
    tamperings.flatMap((tamper) => all.map((scheme) => [tamper, scheme.name, scheme] as const)),
  )('a delivery tampered with as %s is rejected under scheme %s', async (tamper, name, scheme) => {
    const receiver = createReceiver({ secret, scheme })
    const make = () => signedDelivery(fixture('verification.approved'), { scheme, tamper })
    if (tamper === 'stale' && name === 'service') {
      return expect(make()).rejects.toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    }
    const outcome = await receiver.receive(await make())
    expect(outcome).toMatchObject({ kind: 'rejected', code: codes[tamper] })
  })
})

test('a fake clock stands still until it is moved', () => {
  const clock = fakeClock('2026-01-01T00:00:00Z')
  expect(clock.now()).toEqual(clock.now())
  clock.advance({ days: 1, hours: 1, minutes: 1, seconds: 1, milliseconds: 1 })
  expect(clock.now().toISOString()).toBe('2026-01-02T01:01:01.001Z')
  clock.set('2026-05-01T00:00:00Z')
  expect(clock.now().toISOString()).toBe('2026-05-01T00:00:00.000Z')
})

describe('recordHandlers', () => {
  const deliver = async (
    receiver: ReturnType<typeof createReceiver>,
    name: 'client.created' | 'request.approved',
  ) => receiver.receive(await signedDelivery(fixture(name)))

  test('a recorder keeps dispatched events and waits for future ones', async () => {
    const receiver = createReceiver({ secret })
    const recorder = recordHandlers(receiver)
    const coming = recorder.waitFor('verification.approved')
    await deliver(receiver, 'client.created')
    await deliver(receiver, 'request.approved')
    expect(await coming).toMatchObject({ receivedName: 'request.approved' })
    expect(await recorder.waitFor('request.approved')).toBe(await coming)
    expect(await recorder.waitFor(({ entity }) => entity?.type === 'client')).toMatchObject({
      name: 'client.created',
    })
    const options = { timeout: 5 }
    expect(await recorder.waitFor('verification.*', options)).toBe(await coming)
    expect(await recorder.waitFor('request.*', options)).toBe(await coming)
    expect(await recorder.waitFor('*', options)).toMatchObject({ name: 'client.created' })
    expect(recorder.calls.map(({ context }) => context.attempt)).toEqual([1, 1])
    recorder.clear()
    expect(recorder.events).toEqual([])
  })

  test("a name of the service does not match a vendor's own event of that name", async () => {
    const vendor = vendors.persona()
    const receiver = createReceiver({ secret, vendor })
    const recorder = recordHandlers(receiver)
    // Persona's own verification.created is a step of an inquiry.
    const attributes = { name: 'verification.created', payload: { data: { id: 'ver_1' } } }
    const body = { data: { id: 'evt_1', attributes } }
    await receiver.receive(await signedDelivery(body, { scheme: vendor.scheme }))
    expect(recorder.events).toMatchObject([{ known: false, receivedName: 'verification.created' }])
    const waiting = recorder.waitFor('verification.created', { timeout: 5 })
    await expect(waiting).rejects.toThrow('arrived: persona.verification.created')
    const another = recorder.waitFor('persona.verification.created', { timeout: 5 })
    expect(await another).toBe(recorder.events[0])
  })

  test('a recorder that waited in vain says which events arrived instead', async () => {
    const receiver = createReceiver({ secret })
    const recorder = recordHandlers(receiver, ['client.created'])
    await deliver(receiver, 'client.created')
    await deliver(receiver, 'request.approved')
    await expect(recorder.waitFor('client.deleted', { timeout: 5 })).rejects.toThrow(
      'client.deleted did not arrive within 5 ms; arrived: client.created',
    )
  })

  test('a recorder that waited in vain points at the line that waited', async () => {
    const recorder = recordHandlers(createReceiver({ secret }))
    const theLine = () => recorder.waitFor('client.deleted', { timeout: 1 })
    const { stack } = await theLine().then(Object, (error: Error) => error)
    expect(stack).toMatch(
      /^Error: client\.deleted did not arrive within 1 ms; arrived: nothing\n {4}at theLine /,
    )
  })
})
