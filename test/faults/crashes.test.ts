import { describe, expect, test } from 'vitest'
import { sized } from '../tier.ts'
import { judge } from './history.ts'
import { Bench, eventsOf } from './processes.ts'

/** After whatever happened the app is started as it should be, and everything must come right. */
async function recover(
  bench: Bench,
  sent: readonly { id: string; entity: string }[],
  environment: Record<string, string> = {},
) {
  if (!bench.isRunning) await bench.start(environment)
  const statuses: number[] = []
  for (const one of sent) statuses.push(await bench.deliver(one))
  await bench.quiet()
  bench.signal('SIGTERM')
  expect(await bench.ended()).toBe(0)
  const history = await bench.read()
  expect(judge(history)).toEqual([])
  expect(bench.leaks()).toEqual([])
  return { statuses, history }
}

const one = { id: 'evt-1', entity: 'ver-1' }

describe('killed', () => {
  test('while it reads a body: nothing is stored, and the retry is stored once', async () => {
    const bench = new Bench()
    await bench.start()
    await bench.sendHalf(one)
    await bench.kill()
    const { statuses } = await recover(bench, [one])
    expect(statuses).toEqual([202])
  })

  test.each([
    ['after it verified', 'after-verify', 202],
    ['inside the transaction that stores it', 'in-transaction', 202],
    ['after that commit and before the answer', 'after-commit', 200],
  ])('%s: no answer was given, and the retry makes one row', async (_, FAULT, status) => {
    const bench = new Bench()
    await bench.start({ FAULT })
    expect(await bench.send(one)).toBe(0)
    expect(await bench.ended()).toBe('SIGKILL')
    const { statuses, history } = await recover(bench, [one])
    expect(statuses).toEqual([status])
    expect(history.rows).toHaveLength(1)
  })

  test('between commit and claim: it is handled after the restart, with nothing sent again', async () => {
    const bench = new Bench()
    await bench.start({ WORKER: '0' })
    expect(await bench.send(one)).toBe(202)
    await bench.kill()
    const { history } = await recover(bench, [])
    expect(history.rows).toMatchObject([{ state: 'done' }])
  })

  test.each([
    ['in the handler', {}, 'kills-first', 2],
    ['after the effects and before their commit', { FAULT: 'after-effects' }, undefined, 2],
    [
      'after the commit of the effects and before the settlement',
      { FAULT: 'before-settle' },
      undefined,
      1,
    ],
  ])('%s: it runs again, and the effect is there once', async (_, environment, fate, runs) => {
    const bench = new Bench()
    await bench.start(environment)
    const sent = { ...one, ...(fate && { fate }) }
    expect(await bench.send(sent)).toBe(202)
    expect(await bench.ended()).toBe('SIGKILL')
    const { history } = await recover(bench, [])
    expect(history.effects).toEqual(['evt-1'])
    const starts = history.happenings.filter(({ type }) => type === 'start')
    expect(starts).toHaveLength(runs)
  })

  const rounds = Number(process.env.KILLS ?? sized(3, 20))

  test(`${rounds} times under load: nothing is lost, doubled or out of order`, async () => {
    const bench = new Bench()
    await bench.start()
    let next = 0
    let isOver = false
    const sender = async (lane: number) => {
      while (!isOver) await bench.deliver({ id: `evt-${next++}`, entity: `ver-${lane}` })
    }
    const senders = Array.from({ length: 16 }, (_, lane) => sender(lane))
    for (let round = 0; round < rounds; round++) {
      await new Promise((resolve) => setTimeout(resolve, 150 + Math.random() * 350))
      await bench.kill()
      await bench.start()
    }
    isOver = true
    await Promise.all(senders)
    const { history } = await recover(bench, [])
    expect(history.rows.length).toBeGreaterThan(rounds * 5)
  }, 240_000)
})

describe('a handler that', () => {
  test.each([
    ['throws always ends as a dead letter', 'throws', 'dead', 3],
    ['hangs is given up, and its late end counts for nothing', 'hangs', 'done', 2],
    ['fails once runs once more', 'fails-first', 'done', 2],
    ['blocks the loop beyond its time is given up once it lets go', 'blocks', 'done', 2],
  ])('%s', async (_, fate, state, runs) => {
    const bench = new Bench()
    await bench.start({ ATTEMPTS: '3' })
    const sent = { ...one, fate }
    const others = eventsOf(20, 5, 'other')
    expect(await bench.send(sent)).toBe(202)
    for (const other of others) await bench.deliver(other)
    await bench.quiet()
    bench.signal('SIGTERM')
    expect(await bench.ended()).toBe(0)
    const history = await bench.read()
    expect(judge(history)).toEqual([])
    expect(history.rows.find(({ key }) => key === one.id)?.state).toBe(state)
    expect(history.rows.filter((row) => row.state === 'done')).toHaveLength(
      state === 'done' ? 21 : 20,
    )
    const starts = history.happenings.filter((it) => it.type === 'start' && it.key === one.id)
    expect(starts).toHaveLength(runs)
  })

  test('ends the process is a dead letter after its attempts, and the others are done', async () => {
    const bench = new Bench()
    const attempts = 5
    // Shorter than the usual plan, and long enough that a neighbour is settled meanwhile.
    const plan = { ATTEMPTS: String(attempts), DELAY: '1000' }
    await bench.start({ ...plan, WORKER: '0' })
    const others = eventsOf(5, 5, 'other')
    expect(await bench.send({ ...one, fate: 'exits' })).toBe(202)
    for (const other of others) await bench.deliver(other)
    await bench.kill()
    const codes: (number | string)[] = []
    for (let start = 0; start < attempts; start++) {
      await bench.start(plan).catch(() => {})
      codes.push(await bench.ended())
    }
    expect(codes).toEqual(Array(attempts).fill(3))
    const { history } = await recover(bench, [], { ...plan, TELL: '1' })
    expect(bench.said).toMatch(/"type":"settled".*"state":"dead".*"reason":"CRASHED"/)
    expect(history.rows.map(({ state }) => state)).toEqual(['dead', ...others.map(() => 'done')])
  })
})

test('a storm of one event, 10,000 times over 64 connections, is one row, one run and 2xx each', async () => {
  const bench = new Bench()
  await bench.start()
  let left = 10_000
  const statuses = new Map<number, number>()
  const sender = async () => {
    while (left-- > 0) {
      const status = await bench.send(one)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: 64 }, sender))
  expect([...statuses].toSorted()).toEqual([
    [200, 9_999],
    [202, 1],
  ])
  const { history } = await recover(bench, [])
  expect(history.rows).toHaveLength(1)
  expect(history.happenings.filter(({ type }) => type === 'start')).toHaveLength(1)
}, 120_000)

test('SIGTERM under load burns no attempt, and every request that was begun is answered', async () => {
  const bench = new Bench()
  await bench.start({ CONCURRENCY: '4' })
  const sent = eventsOf(400, 40)
  const statuses = Promise.all(sent.map((one) => bench.send(one)))
  await new Promise((resolve) => setTimeout(resolve, 60))
  bench.signal('SIGTERM')
  expect(await bench.ended()).toBe(0)
  // A delivery that had not reached the app when it stopped listening gets no answer and is sent
  // again.
  expect((await statuses).filter((status) => ![0, 202, 503].includes(status))).toEqual([])
  const left = (await bench.read()).happenings.findLast(({ type }) => type === 'exit')
  if (left?.type !== 'exit') throw new Error('the app did not tell how it ended')
  expect(left.begun).toBeGreaterThan(0)
  expect(left.answered).toBe(left.begun)
  const { history } = await recover(bench, sent)
  const attempts = history.happenings.filter(({ type }) => type === 'start')
  expect(attempts.every((it) => it.type === 'start' && it.attempt === 1)).toBe(true)
  expect(attempts).toHaveLength(sent.length)
})
