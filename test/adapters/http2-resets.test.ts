// Bodies over HTTP/2 whose sender resets the stream: Node ends these as it ends whole ones.
import { once } from 'node:events'
import type { ClientHttp2Stream } from 'node:http2'
import { createReceiver, type OutcomeObserved, schemes, sign } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { describe, expect, test } from 'vitest'
import { http2Mounts, keepingFirst, sessionTo } from './http2-mounts.ts'

const secret = 'a-secret-of-thirty-two-characters'
const bodyOf = (id: number) => `{"id":"e${id}","event":"client.created","data":{"id":"cli_1"}}`
const body = bodyOf(1)
const length = { 'content-length': String(body.length) }

/** A receiver that verifies signatures and a receiver that verifies a token; both keep. */
const receivers = {
  'a signature': () => receiving({}),
  'a token': () => {
    const scheme = schemes.token({ header: 'x-token' })
    return receiving({ scheme, authenticity: scheme.authenticity })
  },
}

function receiving(options: Partial<Parameters<typeof createReceiver>[0]>) {
  const came = Promise.withResolvers<OutcomeObserved>()
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({
    secret,
    inbox,
    ...options,
    observe: (seen) => void (seen.type === 'outcome' && came.resolve(seen)),
  })
  return { receiver, outcome: came.promise, kept: async () => (await inbox.find()).entries.length }
}

const headersOf = async (text: string) => ({ 'x-token': secret, ...(await sign(text, { secret })) })

/** Resolves when what was sent has arrived, and some turns later: at once Node sends no reset. */
async function arrived({ session }: ClientHttp2Stream): Promise<void> {
  await new Promise<void>((resolve) => session?.ping(() => resolve()))
  await new Promise((resolve) => setTimeout(resolve, 20))
}

const resets: [string, (stream: ClientHttp2Stream) => unknown][] = [
  ['close(8)', (stream) => stream.close(8)],
  ['close(0)', (stream) => stream.close(0)],
]
const cases = resets.flatMap(([how, reset]) =>
  Object.entries(receivers).flatMap(([by, make]) => [
    [how, by, 'no length', {}, { reset, make }] as const,
    [how, by, 'a length', length, { reset, make }] as const,
  ]),
)

describe.each(http2Mounts)('over %s', (_, start) => {
  test.each(cases)(
    'half a body, reset by %s, of a sender known by %s, with %s, is incomplete',
    async (...[, , , declared, { reset, make }]) => {
      for (const patience of [0, 50]) {
        const { receiver, outcome, kept } = make()
        const begin = sessionTo(await start(receiver, patience))
        const stream = begin({ ...(await headersOf(body)), ...declared })
        stream.write(body.slice(0, 30))
        await arrived(stream)
        reset(stream)
        expect(await outcome).toMatchObject({ kind: 'rejected', code: 'BODY_INCOMPLETE' })
        expect(await kept()).toBe(0)
      }
    },
  )

  test('whole bodies of one session are kept, many at once', async () => {
    for (const make of Object.values(receivers)) {
      const { receiver, kept } = make()
      const begin = sessionTo(await start(receiver))
      const statuses = Array.from({ length: 40 }, async (__, id) => {
        const text = bodyOf(id)
        const declared: Record<string, string> =
          id % 2 ? { 'content-length': String(text.length) } : {}
        const stream = begin({ ...(await headersOf(text)), ...declared })
        stream.write(text.slice(0, 30))
        if (id % 3) await arrived(stream)
        stream.end(text.slice(30))
        return (await once(stream, 'response'))[0][':status']
      })
      expect(new Set(await Promise.all(statuses))).toEqual(new Set([202]))
      expect(await kept()).toBe(40)
    }
  })

  test('a body of its declared length is whole, whatever comes after it', async () => {
    const { receiver, outcome, kept } = receivers['a token']()
    const stream = sessionTo(await start(receiver))({ ...(await headersOf(body)), ...length })
    stream.end(body)
    await once(stream, 'finish')
    stream.close(8)
    expect(await outcome).toMatchObject({ kind: 'accepted' })
    expect(await kept()).toBe(1)
  })
})

const patiences = [[0], [50]]

test.each(patiences)(
  'bytes that a middleware kept of a reset stream are incomplete, %s ms later too',
  async (patience) => {
    for (const make of Object.values(receivers)) {
      const { receiver, outcome, kept } = make()
      const begin = sessionTo(await keepingFirst(receiver, patience))
      // A whole text of JSON, which its sender meant to go on.
      const stream = begin(await headersOf(body))
      stream.write(body)
      await arrived(stream)
      stream.close(8)
      expect(await outcome).toMatchObject({ kind: 'rejected', code: 'BODY_INCOMPLETE' })
      expect(await kept()).toBe(0)
    }
  },
)

test('bytes that a middleware kept of a whole body are taken', async () => {
  for (const declared of [{}, length]) {
    const { receiver, outcome, kept } = receivers['a token']()
    const begin = sessionTo(await keepingFirst(receiver))
    begin({ ...(await headersOf(body)), ...declared }).end(body)
    expect(await outcome).toMatchObject({ kind: 'accepted' })
    expect(await kept()).toBe(1)
  }
})
