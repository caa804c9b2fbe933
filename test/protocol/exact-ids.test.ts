// Ids that are integers above 2^53, which collide as numbers.
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { cloudEvents } from 'idv-webhooks/protocol'
import { expect, test } from 'vitest'
import * as z from 'zod'

const secret = 'exact-secret'
type Options = Parameters<typeof createReceiver>[0]
type Body = { readonly id: never; readonly ref?: unknown; readonly data: { readonly id: never } }
type Envelope = NonNullable<Options['envelope']>

const reading = (id: (body: Body) => unknown) => (body: unknown) =>
  ({ name: 'client.updated', id: id(body as Body), data: (body as Body).data }) as never

/** The outcomes of successive bodies, and the handled events. */
async function sent(envelope: Envelope, bodies: readonly string[]) {
  const inbox = createInbox({ store: memoryStore() })
  const handled: unknown[] = []
  const receiver = createReceiver({ secret, inbox, envelope })
  receiver.on('*', ({ data }) => handled.push((data as { readonly id: unknown }).id))
  const kinds: string[] = []
  for (const body of bodies) {
    const given = { body: new TextEncoder().encode(body), headers: await sign(body, { secret }) }
    kinds.push((await receiver.receive(given)).kind)
  }
  const { entries } = await inbox.find({})
  await createWorker(receiver).runOnce()
  return { inbox, kinds, handled, entities: entries.map(({ entity }) => entity?.id).sort() }
}

const [even, odd] = ['9007199254740992', '9007199254740993']
const [low, high] = ['1732391123456789011', '1732391123456789012']
const bodies = (one: string, other: string) => [
  `{"id":${one},"data":{"id":"ann"}}`,
  `{"id":${other},"data":{"id":"bob"}}`,
]

test('a function has integers above 2^53 as text, by which repeats are told', async () => {
  const plain = reading(({ id }) => `evt-${id}`)
  expect(await sent(plain, bodies(even, odd))).toMatchObject({
    kinds: ['accepted', 'accepted'],
    handled: ['ann', 'bob'],
  })
  for (const body of [...bodies(low, high), `{"id":"${low}","ref":${high},"data":{"id":"c"}}`]) {
    expect((await sent(plain, [body, body])).kinds).toEqual(['accepted', 'duplicate'])
  }
})

const wanted = z.object({ id: z.string(), data: z.object({ id: z.number() }) })
const numbers = (body: unknown) => {
  const { id, data } = wanted.parse(body)
  return { name: 'client.updated', id, data }
}
test('a function that refuses text for numbers gives no key, and makes two clients no one entity', async () => {
  const { inbox, entities, kinds } = await sent(numbers, [
    `{"id":"e1","data":{"id":${odd}}}`,
    `{"id":"e1","data":{"id":9007199254740995}}`,
  ])
  expect(kinds).toEqual(['accepted', 'accepted'])
  expect(entities.filter((id) => id === odd || id === '9007199254740996')).toEqual([])
  expect(await inbox.forget({ type: 'client', id: odd })).toBe(0)
})

test('ids by paths are exact, and told apart, whatever stands beside them', async () => {
  const body = (id: string, ref: string) =>
    `{"event":"client.updated","id":${id},"data":{"id":${ref}}}`
  const all = [body(even, odd), body(odd, even), body(even, odd)]
  const { kinds, entities } = await sent({}, all)
  expect(kinds).toEqual(['accepted', 'accepted', 'duplicate'])
  expect(entities).toEqual([even, odd])
})

const cloudEvent = (id: string, data: string, more = '') =>
  `{"specversion":"1.0","type":"client.updated","source":"s"${more},"id":"${id}","data_base64":"${btoa(data)}"}`

test.each(['', `,"sentns":${odd}`])(
  'CloudEvents have the clients of data_base64 apart (with "%s")',
  async (more) => {
    const given = [odd, even].map((id) => cloudEvent(id, `{"id":${id}}`, more))
    const { entities, handled } = await sent(cloudEvents, given)
    expect(entities).toEqual([even, odd])
    expect(handled).toEqual([odd, even])
  },
)

test('nothing in data_base64 reaches a prototype, or nests without end', async () => {
  const seen: unknown[] = []
  const receiver = createReceiver({ secret, envelope: cloudEvents, validate: 'off' })
  receiver.on('*', ({ data }) => seen.push(data))
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  for (const data of ['{"id":"c","__proto__":{"isAdmin":true}}', deep]) {
    const body = cloudEvent('1', data)
    const given = { body: new TextEncoder().encode(body), headers: await sign(body, { secret }) }
    expect((await receiver.receive(given)).kind).toBe('handled')
  }
  expect(seen).toEqual([{ id: 'c' }, btoa(deep)])
  expect(Object.hasOwn(seen[0] as object, '__proto__')).toBe(false)
})

test('thousands of long integers beside a text of digits hold nothing up', async () => {
  const integers = Array.from(
    { length: 27_000 },
    (_, at) => 12_345_678_901_234_000n + BigInt(at) * 3n,
  )
  const digits = '7'.repeat(540_000)
  const many = Array.from({ length: 500 }, (_, at) => `"t${at}":"${'8'.repeat(990)}"`).join()
  const bodies = [`"text":"${digits}","list":[${integers}]`, `${many},"list":[${integers}]`]
  const inbox = createInbox({ store: memoryStore() })
  const envelope = reading(({ id }) => String(id))
  const receiver = createReceiver({ secret, inbox, envelope, validate: 'reject' })
  receiver.on('*', () => {})
  for (const [at, fields] of bodies.entries()) {
    const body = `{"id":"e${at}","data":{"id":"ann",${fields}}}`
    const given = { body: new TextEncoder().encode(body), headers: await sign(body, { secret }) }
    expect((await receiver.receive(given)).kind).toBe('accepted')
  }
  expect(await createWorker(receiver).runOnce()).toMatchObject({ done: 2 })
})
