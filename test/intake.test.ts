import { expect, onTestFinished, test, vi } from 'vitest'
import { Intake } from '../src/intake/intake.ts'

test('an address keeps its share of what is held while thousands of others come and go', () => {
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

test('all addresses of one /64 of IPv6 have one share, and each of IPv4 has its own, in whatever form', () => {
  const intake = new Intake({ maxBytes: 100, maxInFlightBytes: 1_000, bodyTimeout: 10_000 })
  const take = (address: string) => intake.begin(address).take(100)
  const overloaded = { code: 'OVERLOADED' }
  // Held, and no longer arriving: such bodies give way to nobody.
  const hold = (address: string) => {
    const reading = intake.begin(address)
    expect(reading.take(100)).toBeUndefined()
    reading.done()
    return reading
  }
  const held = [1, 2, 3, 4, 5].map((host) => hold(`2001:db8:0:7::${host}`))
  expect(take('2001:DB8::7:0:0:abcd:99%eth0')).toEqual(overloaded)
  expect(take('2001:db8:0:8::1')).toBeUndefined()
  for (const reading of held) intake.end(reading)
  for (const host of [1, 2, 3, 4, 5]) hold(`::ffff:192.0.2.${host > 3 ? 2 : 1}`)
  expect(take('::ffff:192.0.2.3')).toBeUndefined()
  expect(take('not:an:address')).toBeUndefined()
  const other = new Intake({ maxBytes: 100, maxInFlightBytes: 200, bodyTimeout: 10_000 })
  const mapped = other.begin('::ffff:192.0.2.1')
  expect(mapped.take(100)).toBeUndefined()
  mapped.done()
  expect(other.begin('192.0.2.1').take(1)).toEqual(overloaded)
  // Behind NAT64 all of IPv4 stands in one /64.
  const translated = new Intake({ maxBytes: 100, maxInFlightBytes: 400, bodyTimeout: 10_000 })
  for (const address of ['64:ff9b::192.0.2.1', '192.0.2.1']) {
    const reading = translated.begin(address)
    expect(reading.take(100)).toBeUndefined()
    reading.done()
  }
  expect(translated.begin('64:ff9b::c000:201').take(1)).toEqual(overloaded)
  expect(translated.begin('64:ff9b::c000:202').take(100)).toBeUndefined()
})

test('where no address is known, bodies that do not come give way to those that do', () => {
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
  genuine?.done()
  if (oldest) intake.end(oldest)
  // What is complete, and is handled now, does not end; nor does anything for the longest itself.
  expect([arriving[1]?.take(1), ended]).toEqual([{ code: 'BODY_TOO_LARGE' }, [0]])
  for (const reading of arriving) intake.end(reading)
  const next = intake.begin(undefined)
  expect(next.take(1_000)).toBeUndefined()
})

test('behind a proxy, whose address all share, bodies that do not come give way as well', () => {
  const intake = new Intake({ maxBytes: 1_000, maxInFlightBytes: 10_000, bodyTimeout: 10_000 })
  const ended: number[] = []
  const begin = (at: number, address: string) => {
    const reading = intake.begin(address)
    reading.onStop(({ code }) => code === 'OVERLOADED' && ended.push(at))
    expect(reading.take(1_000)).toBeUndefined()
    return reading
  }
  const [proxy, other] = ['192.0.2.1', '198.51.100.1']
  const strangers = [1, 2, 3, 4, 5].map((at) => begin(at, proxy))
  const genuine = begin(6, proxy)
  expect(ended).toEqual([1])
  genuine.done()
  begin(7, proxy)
  expect(ended).toEqual([1, 2])
  for (const one of strangers) intake.end(one)
  const first = begin(8, other)
  for (const at of [9, 10, 11]) begin(at, proxy)
  const late = intake.begin(proxy)
  late.onStop(() => {})
  expect([late.take(1_000), ended]).toEqual([undefined, [1, 2, 7]])
  // Now the body that has been arriving for longest is that of another address: it stays, and one
  // of the proxy's own goes.
  expect([intake.begin(proxy).take(1_000), ended]).toEqual([undefined, [1, 2, 7, 9]])
  intake.end(first)
})

test.each([
  ['of one address', '192.0.2.1', 1_000],
  ['of no address', undefined, 500],
])(
  'what is handled now holds most %s: what arrives beside it does not end in vain',
  (_, address, maxInFlightBytes) => {
    const intake = new Intake({ maxBytes: 250, maxInFlightBytes, bodyTimeout: 10_000 })
    const ended: string[] = []
    const begin = (name: string) => {
      const reading = intake.begin(address)
      onTestFinished(() => intake.end(reading))
      reading.onStop(() => ended.push(name))
      return reading
    }
    const handled = [begin('first'), begin('second')]
    for (const reading of handled) {
      expect(reading.take(220)).toBeUndefined()
      reading.done()
    }
    const genuine = begin('genuine')
    expect(genuine.take(30)).toBeUndefined()
    const large = begin('large')
    expect(large.take(150)).toEqual({ code: 'OVERLOADED' })
    expect(ended).toEqual([])
    intake.end(large)
    // It gives way where that makes room: to one that is as small, and arrived later.
    expect(begin('next').take(60)).toBeUndefined()
    expect(ended).toEqual(['genuine'])
  },
)

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

test('what does not fit is not counted, and what is given back may be held by another', () => {
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

test('what a dropped request holds is given back: by all, and by its address', () => {
  const intake = new Intake({ maxBytes: 1_000, maxInFlightBytes: 4_000, bodyTimeout: 10_000 })
  const complete = (address?: string) => {
    const reading = intake.begin(address)
    expect(reading.take(1_000)).toBeUndefined()
    reading.done()
    reading.awaitProof()
    return reading
  }
  const overloaded = { code: 'OVERLOADED' }
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
  onTestFinished(() => clock.mockRestore())
  const [dropped, late] = [complete('192.0.2.1'), complete('192.0.2.1')]
  complete().proved()
  complete()
  const [next, own] = [intake.begin(undefined), intake.begin('192.0.2.1')]
  clock.mockReturnValue(9_999)
  expect([next.take(1), own.take(1)]).toEqual([overloaded, overloaded])
  for (const one of [next, own]) intake.end(one)
  // A proof may take 10 s; a delivery that is proved counts for as long as it is handled.
  clock.mockReturnValue(10_000)
  expect(intake.begin('192.0.2.1').take(1_000)).toBeUndefined()
  // One that was late, and not dropped, gives nothing back twice.
  for (const one of [dropped, late]) intake.end(one)
  expect([intake.begin(undefined), intake.begin(undefined)].map((one) => one.take(1_000))).toEqual([
    undefined,
    undefined,
  ])
  expect(intake.begin(undefined).take(1)).toEqual(overloaded)
})

test('requests that were dropped before their body came are given up, without a timer of theirs', () => {
  const intake = new Intake({ maxBytes: 1_000, maxInFlightBytes: 64_000, bodyTimeout: 5_000 })
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => {
    clock.mockRestore()
    vi.useRealTimers()
  })
  const begin = () => {
    const reading = intake.begin(undefined)
    reading.onStop(() => {})
    return reading
  }
  const dropped = Array.from({ length: 150 }, begin)
  clock.mockReturnValue(10_000)
  const honest = Array.from({ length: 10 }, begin)
  clock.mockReturnValue(15_000)
  begin()
  expect(intake.incomplete.size).toBe(11)
  for (const reading of [...dropped, ...honest]) intake.end(reading)
  expect(intake.incomplete.size).toBe(1)
})

test('what is no whole number is refused before it is counted, and bounds nothing less', () => {
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
