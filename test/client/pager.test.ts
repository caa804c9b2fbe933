import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { clientOf, failure, openSandbox, start } from './service.ts'

const input = { type: 'kyc', requirements: ['consent'] } as const

/** A sandbox with so many verifications, one each second, and what its client asks. */
async function filled(count: number) {
  const sandbox = openSandbox({ now: start })
  const asked: URLSearchParams[] = []
  const api = clientOf(sandbox, {
    limiter: false,
    fetch: (request) => {
      if (request.method === 'GET') asked.push(new URL(request.url).searchParams)
      return sandbox.fetch(request)
    },
  })
  const add = async () => {
    const { id } = await api.verifications.create(input)
    await sandbox.clock.advance({ seconds: 1 })
    return id
  }
  const ids: string[] = []
  for (let at = 0; at < count; at++) ids.unshift(await add())
  return { sandbox, api, ids, asked, add }
}

async function collect<Item>(items: AsyncIterable<Item>, each = async () => {}): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) {
    all.push(item)
    await each()
  }
  return all
}

describe('iterate', () => {
  test('iterate yields every verification once, in pages of 100', async () => {
    const { api, ids, asked } = await filled(250)
    const all = await collect(api.verifications.iterate())
    expect(all.map(({ id }) => id)).toEqual(ids)
    expect(asked.map((one) => [one.get('page'), one.get('limit')])).toEqual([
      ['1', '100'],
      ['2', '100'],
      ['3', '100'],
    ])
  })

  test.each(['created_at', 'updated_at'] as const)(
    'iterate by %s is not shifted by records that are created meanwhile',
    async (sort) => {
      const { api, sandbox, ids, add } = await filled(30)
      await sandbox.clock.advance({ seconds: 1 })
      const got = await collect(api.verifications.iterate({ sort, limit: 7 }), async () => {
        await add()
      })
      expect(new Set(got.map(({ id }) => id))).toEqual(new Set(ids))
      expect(got).toHaveLength(ids.length)
    },
  )

  test.each(['created_at', 'updated_at', undefined] as const)(
    'iterate by %s loses nothing if the oldest come first',
    async (sort) => {
      const { sandbox, ids } = await filled(25)
      const api = clientOf(sandbox, {
        limiter: false,
        async fetch(request) {
          const url = new URL(request.url)
          const [page, limit] = ['page', 'limit'].map((name) => url.searchParams.get(name))
          for (const name of ['page', 'sort']) url.searchParams.delete(name)
          url.searchParams.set('limit', '100')
          const all = await (await sandbox.fetch(new Request(url, request))).json()
          const [from, size] = [Number(page ?? 1) - 1, Number(limit ?? 20)]
          const data = all.data.reverse().slice(from * size, (from + 1) * size)
          const hasNext = (from + 1) * size < all.pagination.total
          return Response.json({ data, pagination: { ...all.pagination, hasNext } })
        },
      })
      for (const limit of [1, 10]) {
        const got = await collect(api.verifications.iterate({ sort, limit }))
        expect(got.map(({ id }) => id)).toEqual([...ids].reverse())
      }
    },
  )

  test('iterate keeps the caller’s own dateTo', async () => {
    const { api, ids, asked } = await filled(10)
    const dateTo = new Date('2026-03-01T10:00:04Z')
    const got = await collect(api.verifications.iterate({ dateTo, limit: 2 }))
    expect(got.map(({ id }) => id)).toEqual(ids.slice(5))
    expect(new Set(asked.map((one) => one.get('dateTo')))).toEqual(new Set([dateTo.toISOString()]))
  })

  test('iterate yields each record once when pages drift', async () => {
    const { api, sandbox, ids } = await filled(20)
    const got = await collect(
      api.verifications.iterate({ sort: 'updated_at', limit: 5 }),
      // Each record that was read moves to the front and shifts the others.
      async () => {
        const next = ids.shift()
        if (next) await sandbox.act(next, 'start', { force: true })
      },
    )
    expect(new Set(got.map(({ id }) => id)).size).toBe(got.length)
  })

  test('iterate continues over empty pages and ends when the service says so, never by counting', async () => {
    const pages = [[1, 2, 1], [], [2, 3, 3], []].map((ids, at, { length }) => ({
      data: ids.map((id) => ({ id: `c${id}`, createdAt: start })),
      pagination: { hasNext: at < length - 1, page: 9, limit: 9, total: 1, totalPages: 1 },
    }))
    const api = createClient({
      baseUrl: 'https://x.test/v2/api',
      apiKey: 'k1',
      observe: () => {},
      fetch: async ({ url }) =>
        Response.json(pages[Number(new URL(url).searchParams.get('page')) - 1]),
    })
    const got = await collect(api.clients.iterate())
    expect(got.map(({ id }) => id)).toEqual(['c1', 'c2', 'c3'])
    expect(await collect(api.clients.iterate().pages())).toHaveLength(4)
  })

  test('iterate reads pages of 100 by default', async () => {
    const { api, asked } = await filled(0)
    await collect(api.verifications.iterate({ limit: undefined }))
    await collect(api.clients.iterate({ limit: undefined }))
    expect(asked.map((one) => one.get('limit'))).toEqual(['100', '100'])
  })

  test('each iteration starts again, and stops requesting when the reader stops', async () => {
    const { api, asked } = await filled(30)
    const walk = api.verifications.iterate({ limit: 10 })
    for await (const _ of walk) break
    expect(asked).toHaveLength(1)
    expect(await collect(walk)).toHaveLength(30)
  })

  test('iterate ends with its signal', async () => {
    const { api } = await filled(3)
    const stop = new AbortController()
    const walk = api.verifications.iterate({ limit: 1 }, { signal: stop.signal })
    const reason = new Error('enough')
    expect(await failure(collect(walk, async () => stop.abort(reason)))).toBe(reason)
  })

  test('iterate yields clients too', async () => {
    const { api } = await filled(0)
    for (let at = 0; at < 12; at++) await api.clients.create({ externalId: `crm-${at}` })
    expect(await collect(api.clients.iterate({ limit: 5 }))).toHaveLength(12)
  })
})

describe('toArray', () => {
  test('toArray returns at most `max` records and reads no further', async () => {
    const { api, ids, asked } = await filled(30)
    const got = await api.verifications.iterate({ limit: 10 }).toArray({ max: 15 })
    expect(got.map(({ id }) => id)).toEqual(ids.slice(0, 15))
    expect(asked).toHaveLength(2)
    expect(await api.verifications.iterate().toArray({ max: 0 })).toEqual([])
    expect(await api.verifications.iterate().toArray({ max: 100 })).toHaveLength(30)
  })

  test('toArray needs a limit', async () => {
    const { api } = await filled(0)
    for (const options of [undefined, {}, { max: -1 }, { max: Number.POSITIVE_INFINITY }]) {
      const work = api.verifications.iterate().toArray(options as never)
      expect(await failure(work)).toMatchObject({ code: 'OPTION_INVALID' })
    }
  })
})
