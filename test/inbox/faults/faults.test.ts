import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { brokenPromises } from './history.ts'
import { Lab, post, type SentEvent } from './lab.ts'

const labs: Lab[] = []
afterEach(async () => {
  for (const lab of labs.splice(0)) await lab.close()
})

function lab(): Lab {
  const made = new Lab()
  labs.push(made)
  return made
}

const event = (id: string, entity = 'ver_1', more: Partial<SentEvent> = {}): SentEvent => ({
  id,
  entity,
  ...more,
})
const starts = (at: Lab, id: string) =>
  at.lines().filter((line) => line.type === 'start' && line.id === id)
const stateOf = (at: Lab, id: string) => at.rows().find(({ key }) => key === id)?.state

describe('a process that is killed', () => {
  test('while it reads a body has kept nothing, and the sender comes again', async () => {
    const at = lab()
    await at.start()
    const { body, headers } = await at.delivery(event('a'))
    const socket = connect(at.port, '127.0.0.1')
    socket.on('error', () => {})
    const head = Object.entries({ ...headers, 'content-length': String(body.length) })
    socket.write(
      `POST / HTTP/1.1\r\nhost: x\r\n${head.map((one) => one.join(': ')).join('\r\n')}\r\n\r\n`,
    )
    await new Promise<void>((resolve) => socket.write(body.slice(0, 40), () => resolve()))
    await at.kill()
    expect(at.rows()).toEqual([])
    await at.start()
    expect(await at.send(event('a'))).toBe(202)
    await at.quiet()
    expect(starts(at, 'a')).toHaveLength(1)
    expect(brokenPromises(at.history())).toEqual([])
  })

  test.each([
    ['before the transaction', 0, 202],
    ['inside the transaction', 0, 202],
    ['after the commit', 1, 200],
  ])(
    '%s, before its answer, keeps %i rows; the next attempt hears %i',
    async (fault, rows, status) => {
      const at = lab()
      await at.start({ worker: false, fault })
      await at.deliver(event('before'))
      writeFileSync(at.armed, '')
      expect(await at.send(event('a', 'ver_2', { tx: true }))).toBeUndefined()
      await at.ended()
      expect(at.rows().filter(({ key }) => key === 'a')).toHaveLength(rows)
      rmSync(at.armed)
      await at.start()
      expect(await at.send(event('a', 'ver_2', { tx: true }))).toBe(status)
      await at.quiet()
      expect(starts(at, 'a')).toHaveLength(1)
      expect(brokenPromises(at.history())).toEqual([])
    },
  )

  test('between the commit and the claim has its events handled by the next one', async () => {
    const at = lab()
    await at.start({ worker: false })
    for (const id of ['a', 'b', 'c']) expect(await at.send(event(id))).toBe(202)
    await at.kill()
    await at.start()
    await at.quiet()
    expect(at.rows().map(({ state }) => state)).toEqual(['done', 'done', 'done'])
    expect(brokenPromises(at.history())).toEqual([])
  })

  test('in a handler has the attempt counted and its effects undone; the next one does them once', async () => {
    const at = lab()
    await at.start()
    await at.send(event('a', 'ver_1', { behaviour: 'kill first', tx: true }))
    await at.ended()
    expect(at.effects()).toEqual([])
    await at.start()
    await at.quiet()
    expect(starts(at, 'a').map(({ attempt }) => attempt)).toEqual([1, 2])
    expect(at.effects()).toEqual(['a'])
    expect(brokenPromises(at.history())).toEqual([])
  })

  test('after its effects and before they commit does them once', async () => {
    const at = lab()
    await at.start({ fault: 'before the effects commit' })
    await at.send(event('a', 'ver_1', { behaviour: 'arm', tx: true }))
    await at.ended()
    expect(at.effects()).toEqual([])
    rmSync(at.armed)
    await at.start()
    await at.quiet()
    expect(starts(at, 'a')).toHaveLength(2)
    expect(at.effects()).toEqual(['a'])
    expect(brokenPromises(at.history())).toEqual([])
  })

  test('after its effects are committed does not run that handler again', async () => {
    const at = lab()
    await at.start({ fault: 'after the effects commit' })
    await at.send(event('a', 'ver_1', { behaviour: 'arm', tx: true }))
    await at.ended()
    rmSync(at.armed)
    await at.start()
    await at.quiet()
    expect(starts(at, 'a')).toHaveLength(1)
    expect([stateOf(at, 'a'), at.effects()]).toEqual(['done', ['a']])
    expect(brokenPromises(at.history())).toEqual([])
  })

  test('after effects of its own and before they are settled runs again under the same key', async () => {
    const at = lab()
    await at.start({ fault: 'before the transaction' })
    await at.send(event('a', 'ver_1', { behaviour: 'arm' }))
    await at.ended()
    rmSync(at.armed)
    await at.start()
    await at.quiet()
    const keys = starts(at, 'a').map(({ key }) => key)
    expect(keys).toHaveLength(2)
    expect(new Set(keys).size).toBe(1)
    expect(brokenPromises(at.history())).toEqual([])
  })

  test('at random, thirty times under load, loses and doubles nothing', async () => {
    const at = lab()
    let stop = false
    let next = 0
    let restarts = 0
    await at.start()
    const senders = Array.from({ length: 12 }, async () => {
      while (!stop) {
        const number = next++
        const behaviour = ['plain', 'slow', 'fail first', 'plain'][number % 4] ?? 'plain'
        const entity = `ver_${number % 17}`
        await at.deliver(event(`e${number}`, entity, { behaviour, tx: number % 3 === 0 }))
      }
    })
    for (; restarts < 30; restarts++) {
      await new Promise((resolve) => setTimeout(resolve, 100 + ((restarts * 37) % 200)))
      await at.kill()
      await at.start({ attempts: 40 })
    }
    stop = true
    await Promise.all(senders)
    await at.quiet()
    expect(brokenPromises(at.history())).toEqual([])
    expect(at.sent.filter(({ status }) => status === 202).length).toBeGreaterThan(200)
  }, 120_000)
})

describe('a handler', () => {
  test('that kills its process at every attempt ends dead, without a crash loop', async () => {
    const at = lab()
    const poison = event('poison', 'ver_1', { behaviour: 'exit always' })
    await at.start({ attempts: 3 })
    const delivered = [at.deliver(poison), at.deliver(event('next'))]
    let crashes = 0
    while ((await at.ended()) === 7) {
      crashes++
      await at.start({ attempts: 3 }).catch(() => {})
      if (crashes === 3) break
    }
    await Promise.all(delivered)
    await at.quiet()
    expect(crashes).toBe(3)
    expect(starts(at, 'poison')).toHaveLength(3)
    expect([stateOf(at, 'poison'), stateOf(at, 'next')]).toEqual(['dead', 'done'])
    expect(starts(at, 'next')[0]?.gap).toBe(true)
    expect(brokenPromises(at.history())).toEqual([])
  })

  test('that always fails ends dead after its budget; its entity goes on and others never wait', async () => {
    const at = lab()
    await at.start({ attempts: 3 })
    await at.send(event('bad', 'ver_1', { behaviour: 'fail always', tx: true }))
    await at.send(event('after', 'ver_1'))
    for (let other = 0; other < 20; other++) await at.send(event(`o${other}`, `other_${other}`))
    await at.quiet()
    expect(starts(at, 'bad')).toHaveLength(3)
    expect([stateOf(at, 'bad'), stateOf(at, 'after')]).toEqual(['dead', 'done'])
    expect(at.effects()).toEqual([])
    expect(brokenPromises(at.history())).toEqual([])
  })

  test('that hangs is given up at its time limit and tried again', async () => {
    const at = lab()
    await at.start({ handlerTimeout: 200 })
    await at.send(event('a', 'ver_1', { behaviour: 'hang first' }))
    await at.quiet()
    expect([starts(at, 'a').length, stateOf(at, 'a')]).toEqual([2, 'done'])
    const history = { ...at.history(), fenced: new Set(['a']) }
    expect(brokenPromises(history)).toEqual([])
  })

  test('that blocks the loop loses nothing that was acknowledged', async () => {
    const at = lab()
    await at.start({ handlerTimeout: 300 })
    await at.send(event('a', 'ver_1', { behaviour: 'block first' }))
    await Promise.all(
      Array.from({ length: 10 }, (_, number) => at.deliver(event(`b${number}`, `o_${number}`))),
    )
    await at.quiet()
    expect(at.rows().every(({ state }) => state === 'done')).toBe(true)
    const history = { ...at.history(), fenced: new Set(['a']) }
    expect(brokenPromises(history)).toEqual([])
  })
})

describe('a sender', () => {
  test('that sends one event 10,000 times over 64 connections has it kept and handled once', async () => {
    const at = lab()
    await at.start()
    const { body, headers } = await at.delivery(event('storm'))
    const { Agent } = await import('node:http')
    const agent = new Agent({ keepAlive: true, maxSockets: 64 })
    const statuses = new Map<number | undefined, number>()
    let left = 10_000
    await Promise.all(
      Array.from({ length: 64 }, async () => {
        while (left-- > 0) {
          const status = await post(at.port, { body, headers, agent })
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
        }
      }),
    )
    agent.destroy()
    await at.quiet()
    expect([...statuses.keys()].toSorted()).toEqual([200, 202])
    expect(statuses.get(202)).toBe(1)
    expect(at.rows()).toHaveLength(1)
    expect(starts(at, 'storm')).toHaveLength(1)
  }, 60_000)

  test('that sends out of order is handled in the order of arrival', async () => {
    const at = lab()
    await at.start()
    for (const id of ['c', 'a', 'b']) await at.send(event(id, 'ver_1', { behaviour: 'slow' }))
    await at.quiet()
    const order = at.lines().flatMap(({ type, id }) => (type === 'start' ? [id] : []))
    expect(order).toEqual(['c', 'a', 'b'])
    expect(brokenPromises(at.history())).toEqual([])
  })
})

test('SIGTERM under load answers all that was accepted, burns no attempt and ends with 0', async () => {
  const at = lab()
  await at.start()
  let stop = false
  let next = 0
  const senders = Array.from({ length: 8 }, async () => {
    while (!stop) {
      const number = next++
      const status = await at.send(event(`e${number}`, `ver_${number % 40}`, { behaviour: 'slow' }))
      if (status === undefined || status === 503)
        await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
  await at.seen(({ type }) => type === 'start', 30)
  const code = await at.ended('SIGTERM')
  stop = true
  await Promise.all(senders)
  expect(code).toBe(0)
  await at.start()
  await at.quiet()
  expect(brokenPromises(at.history())).toEqual([])
  const again = at.lines().filter(({ type, attempt }) => type === 'start' && attempt !== 1)
  expect(again).toEqual([])
}, 60_000)

test('a second process on the same file refuses to start, and the first goes on', async () => {
  const at = lab()
  await at.start()
  const other = new Lab(at.folder)
  await expect(other.start()).rejects.toThrow(/another process has the inbox/)
  expect(await at.send(event('a'))).toBe(202)
  await at.quiet()
  expect(brokenPromises(at.history())).toEqual([])
})

test('no word of a person is in the log or the errors of the process, and none in the file when it is sealed', async () => {
  const at = lab()
  await at.start({ env: { SEALED: 'yes' } })
  const canary = 'canary-7f3a'
  for (const behaviour of ['plain', 'fail first', 'fail always']) {
    await at.send(event(behaviour, `ver ${behaviour}`, { behaviour: `${behaviour}` }))
  }
  await at.send(event('named', canary, { behaviour: 'fail always' }))
  await at.quiet()
  await at.ended('SIGTERM')
  for (const end of ['', '-wal']) {
    expect(bytesOf(at.file + end).includes(canary), `inbox.db${end}`).toBe(false)
  }
  expect(at.stderr).not.toContain(canary)
})

function bytesOf(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch {
    return Buffer.alloc(0)
  }
}
