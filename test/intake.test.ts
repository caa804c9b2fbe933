import { createReceiver } from 'idv-webhooks'
import { expect, onTestFinished, test } from 'vitest'
import { HeaderIndex } from '../src/delivery.ts'
import { admit, Intake } from '../src/intake/intake.ts'

test('an address keeps its share of the held bytes while thousands of others come and go', () => {
  const intake = new Intake({ maxBytes: 100, maxInFlightBytes: 1_000, bodyTimeout: 10_000 })
  const held = Array.from({ length: 5 }, () => intake.begin('192.0.2.1'))
  for (const reading of held) expect(reading.take(100)).toBeUndefined()
  for (let one = 0; one < 3_000; one++) {
    const address = `198.51.100.${one}`
    const reading = intake.begin(address)
    expect(reading.take(50)).toBeUndefined()
    intake.end(reading)
  }
  const sixth = intake.begin('192.0.2.1')
  expect(sixth.take(1)).toEqual({ code: 'OVERLOADED' })
  intake.end(sixth)
  for (const reading of held) intake.end(reading)
  expect(intake.begin('192.0.2.1').take(100)).toBeUndefined()
})

test('addresses of one /64 of IPv6 have one share, and each of IPv4 its own, within IPv6 too', () => {
  const intake = new Intake({ maxBytes: 100, maxInFlightBytes: 1_000, bodyTimeout: 10_000 })
  const take = (address: string) => intake.begin(address).take(100)
  const overloaded = { code: 'OVERLOADED' }
  const held = [1, 2, 3, 4, 5].map((host) => {
    const reading = intake.begin(`2001:db8:0:7::${host}`)
    expect(reading.take(100)).toBeUndefined()
    return reading
  })
  expect(take('2001:DB8:0:7:0:0:abcd:99%eth0')).toEqual(overloaded)
  for (const reading of held) intake.end(reading)
  expect(take('2001:db8:0:8::1')).toBeUndefined()
  expect(take('not:an:address')).toBeUndefined()
  const other = new Intake({ maxBytes: 100, maxInFlightBytes: 200, bodyTimeout: 10_000 })
  expect(other.begin('::ffff:192.0.2.1').take(100)).toBeUndefined()
  const second = other.begin('192.0.2.1')
  expect(second.take(1)).toEqual(overloaded)
  other.end(second)
  expect(other.begin('192.0.2.2').take(100)).toBeUndefined()
})

test('if no address is known, bodies that stall give way to bodies that arrive', () => {
  const intake = new Intake({ maxBytes: 1_000, maxInFlightBytes: 10_000, bodyTimeout: 10_000 })
  const ended: number[] = []
  // One of which nothing has come holds nothing that would make room.
  const idle = intake.begin(undefined)
  idle.onStop(() => ended.push(-1))
  const arriving = Array.from({ length: 11 }, (_, at) => {
    const reading = intake.begin(undefined)
    reading.onStop(({ code }) => code === 'OVERLOADED' && ended.push(at))
    return reading
  })
  for (const reading of arriving.slice(0, 10)) expect(reading.take(1_000)).toBeUndefined()
  const [oldest, , , , , , , , , , genuine] = arriving
  expect([genuine?.take(1_000), ended]).toEqual([undefined, [0]])
  genuine?.complete(1_000)
  if (oldest) intake.end(oldest)
  // A complete body that is being handled does not end, nor does the oldest body end itself.
  expect([arriving[1]?.take(1), ended]).toEqual([{ code: 'BODY_TOO_LARGE' }, [0]])
  for (const reading of arriving) intake.end(reading)
  const next = intake.begin(undefined)
  expect(next.take(1_000)).toBeUndefined()
})

test("bytes beyond an address's share are rejected, and bodies of other addresses continue", () => {
  const intake = new Intake({ maxBytes: 1_000, maxInFlightBytes: 10_000, bodyTimeout: 10_000 })
  const ended: string[] = []
  const begin = (address: string) => {
    const reading = intake.begin(address)
    onTestFinished(() => intake.end(reading))
    reading.onStop(() => ended.push(address))
    return reading
  }
  for (let at = 0; at < 5; at += 1) expect(begin('192.0.2.1').take(1_000)).toBeUndefined()
  const sixth = begin('192.0.2.1')
  expect(sixth.take(1)).toEqual({ code: 'OVERLOADED' })
  intake.end(sixth)
  expect(begin('198.51.100.1').take(1_000)).toBeUndefined()
  expect(ended).toEqual([])
})

test('a body that arrives beside bodies that are handled is not ended without need', () => {
  const intake = new Intake({ maxBytes: 250, maxInFlightBytes: 500, bodyTimeout: 10_000 })
  const ended: string[] = []
  const begin = (name: string) => {
    const reading = intake.begin(undefined)
    onTestFinished(() => intake.end(reading))
    reading.onStop(() => ended.push(name))
    return reading
  }
  const handled = [begin('first'), begin('second')]
  for (const reading of handled) {
    expect(reading.take(220)).toBeUndefined()
    reading.complete(220)
  }
  const genuine = begin('genuine')
  expect(genuine.take(30)).toBeUndefined()
  const large = begin('large')
  expect(large.take(150)).toEqual({ code: 'OVERLOADED' })
  expect(ended).toEqual([])
  intake.end(large)
  // A body gives way if that makes room, to a body as small that arrived later.
  expect(begin('next').take(60)).toBeUndefined()
  expect(ended).toEqual(['genuine'])
})

test('short bodies are counted before they arrive, up to a quarter of what may be held', () => {
  const intake = new Intake({ maxBytes: 20_000, maxInFlightBytes: 80_000, bodyTimeout: 10_000 })
  const [first, second] = [intake.begin(undefined), intake.begin(undefined)]
  expect(first.reserve(16_384)).toBe(true)
  expect(second.reserve(16_384)).toBe(false)
  expect([first.bytes, second.bytes]).toEqual([16_384, 0])
  intake.end(first)
  expect(second.reserve(16_384)).toBe(true)
  intake.end(second)
})

test.each([[-1], [16_385], [Number.NaN]])('a declared length of %d is not counted', (length) => {
  const intake = new Intake({ maxBytes: 20_000, maxInFlightBytes: 80_000, bodyTimeout: 10_000 })
  const reading = intake.begin(undefined)
  expect([reading.reserve(length), reading.bytes]).toEqual([false, 0])
})

test('a body that does not fit is not counted, and released bytes may be held by another', () => {
  const intake = new Intake({ maxBytes: 10_000, maxInFlightBytes: 80_000, bodyTimeout: 10_000 })
  for (let one = 0; one < 100; one++) {
    const reading = intake.begin(undefined)
    expect([reading.reserve(10_001), reading.bytes]).toEqual([false, 0])
    intake.end(reading)
  }
  const eight = Array.from({ length: 8 }, () => intake.begin(undefined))
  for (const reading of eight) expect(reading.take(10_000)).toBeUndefined()
  expect(intake.begin(undefined).reserve(1)).toBe(false)
})

test('a length that is not a whole number is rejected before it is counted', () => {
  const intake = new Intake({ maxBytes: 100, maxInFlightBytes: 100, bodyTimeout: 10_000 })
  const reading = intake.begin('192.0.2.1')
  for (const wrong of [undefined, Number.NaN, 1.5, Number.POSITIVE_INFINITY, '8']) {
    expect(reading.take(wrong as number)).toMatchObject({ code: 'BODY_CONSUMED' })
    expect(reading.reserve(wrong as number)).toBe(false)
  }
  intake.end(reading)
  expect(intake.begin(undefined).take(100)).toBeUndefined()
  expect(intake.begin(undefined).take(1)).toEqual({ code: 'OVERLOADED' })
})

test.each([
  ['Content-Encoding', 'UTF-8', undefined],
  ['Content-Encoding', 'identity', undefined],
  ['Content-Encoding', 'gzip', 'ENCODING_UNSUPPORTED'],
  ['Content-Encoding', 'BR', 'ENCODING_UNSUPPORTED'],
  ['Content-Encoding', 'identity, zstd', 'ENCODING_UNSUPPORTED'],
  ['Content-Type', '', undefined],
  ['Content-Type', ' ; charset=utf-8', undefined],
  ['Content-Type', 'text/plain', 'CONTENT_TYPE_UNSUPPORTED'],
])('a delivery with %s: %s is refused as %s', (name, value, code) => {
  expect(admit(new HeaderIndex({ [name]: value }), 2, 100)).toBe(code)
})

test.each([
  [
    'content-type',
    'text/plain; charset=utf-8',
    'the content type is text/plain; charset=utf-8, not JSON',
  ],
  ['content-encoding', 'gzip', 'the body is encoded as gzip'],
  ['content-type', `text/${'x'.repeat(90)}`, 'the content type is not JSON'],
  ['content-type', 'text/plain\u0007"<b>', 'the content type is not JSON'],
])(
  'the answer to %s: %s names the value if it is short and plain',
  async (name, value, message) => {
    const receiver = createReceiver({ secret: 's3cret-of-some-length' })
    const reply = await receiver.handle({
      ...{ method: 'POST', headers: { [name]: value } },
      read: async () => new Uint8Array(),
    })
    expect(reply.status).toBe(415)
    expect(JSON.parse(reply.body)).toMatchObject({ message })
  },
)
