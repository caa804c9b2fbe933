import { describe, expect, test, vi } from 'vitest'
import { createClient, ValidationError } from '../../src/client/index.ts'
import { errorPage } from '../../src/errors.ts'
import { clientOf, failure, openSandbox, start } from './service.ts'

const silent = () => {
  const send = vi.fn(async () => Response.json({}))
  const baseUrl = 'https://x.test/v2/api'
  return { send, api: createClient({ baseUrl, apiKey: 'k1', fetch: send, observe: () => {} }) }
}

describe('input', () => {
  test('input that the service would refuse is not sent, and every invalid field is named', async () => {
    const { send, api } = silent()
    const error = await failure(
      api.verifications.create({
        type: 'idv',
        requirements: [],
        clientId: 'no-uuid',
        subjectName: 'x'.repeat(129),
        subjectEmail: 'nobody',
        subjectPhone: '1'.repeat(33),
        expiresDays: 91,
        thirdParties: [{ name: 'x', email: 'nobody' }],
      }),
    )
    expect(error).toBeInstanceOf(ValidationError)
    expect((error as ValidationError).errors.map(({ field }) => field)).toEqual([
      'requirements',
      'clientId',
      'subjectName',
      'subjectEmail',
      'subjectPhone',
      'expiresDays',
      'thirdParties.0.email',
    ])
    expect(error).toMatchObject({
      code: 'VALIDATION_ERROR',
      status: 422,
      requestInfo: { attempts: 0 },
    })
    expect(send).not.toHaveBeenCalled()
  })

  test('input is refused with the same fields and messages as by the service', async () => {
    const sandbox = openSandbox({ now: start })
    const wrong = { type: 'pdf', requirements: ['document', 'soul'], expiresDays: 0 }
    const answer = await sandbox.fetch(
      new Request(`${sandbox.baseUrl}/verifications`, {
        method: 'POST',
        headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
        body: JSON.stringify(wrong),
      }),
    )
    const error = await failure(clientOf(sandbox).verifications.create(wrong as never))
    expect((error as ValidationError).errors).toEqual((await answer.json()).errors)
  })

  test.each([
    ['limit', { limit: 101 }],
    ['page', { page: 0 }],
    ['sort', { sort: 'name' }],
    ['status.1', { status: ['approved', 'lost'] }],
    ['status.0', { status: 'lost' }],
    ['search', { search: 'x'.repeat(101) }],
    ['dateFrom', { dateFrom: 'yesterday' }],
    ['dateTo', { dateTo: new Date('nothing') }],
    ['matterId', { matterId: '7' }],
  ])('the parameter %s of a list is checked', async (field, query) => {
    const { send, api } = silent()
    const error = await failure(api.verifications.list(query as never))
    expect(error).toMatchObject({ errors: [{ field }] })
    expect(send).not.toHaveBeenCalled()
  })

  test('an unknown parameter of a list is refused with the closest known one', async () => {
    const { send, api } = silent()
    const misspelled = await failure(api.verifications.list({ statu: 'approved' } as never))
    expect(misspelled).toMatchObject({ name: 'ValidationError', errors: [{ field: 'statu' }] })
    expect((misspelled as Error).message).toContain("Did you mean 'status'?")
    const iterated = api.clients.iterate({ memberTyp: 'business' } as never)
    expect(await failure(iterated.toArray({ max: 1 }))).toMatchObject({
      errors: [{ field: 'memberTyp' }],
    })
    expect(send).not.toHaveBeenCalled()
  })

  test('an unknown option of a call is refused', async () => {
    const { send, api } = silent()
    const call = api.clients.list({}, { timeuot: 1000 } as never)
    expect(await failure(call)).toMatchObject({ code: 'OPTION_INVALID' })
    expect(send).not.toHaveBeenCalled()
  })

  test('ids cannot lead to another path', async () => {
    const { send, api } = silent()
    for (const id of ['', '.', '..', undefined, null, 7]) {
      expect(await failure(api.verifications.get(id as never))).toMatchObject({
        errors: [{ field: 'id' }],
      })
    }
    expect(send).not.toHaveBeenCalled()
    await failure(api.clients.get('../verifications?x=1#/'))
    const [request] = send.mock.calls[0] as unknown as [Request]
    expect(request.url).toBe('https://x.test/v2/api/clients/..%2Fverifications%3Fx%3D1%23%2F')
  })

  test('input that JSON or an address cannot carry is refused', async () => {
    const { send, api } = silent()
    const circle: Record<string, unknown> = {}
    circle.self = circle
    for (const work of [
      api.clients.create({ metadata: circle }),
      api.clients.create({ metadata: { tax: 1n } }),
      api.clients.list({ page: 1n } as never),
      api.clients.get('\ud800'),
    ]) {
      expect(await failure(work)).toMatchObject({ name: 'ValidationError' })
    }
    expect(send).not.toHaveBeenCalled()
  })

  test('input that JSON can represent is sent unchanged', async () => {
    class Note {
      text = 'x'
    }
    const { send, api } = silent()
    const twice = { a: 1 }
    const at = new Date(start)
    const metadata = { at, note: new Note(), none: null, left: undefined, one: twice, two: twice }
    await failure(api.clients.create({ nameFirst: undefined, metadata }))
    const [request] = send.mock.calls[0] as unknown as [Request]
    const carried = { at: start, note: { text: 'x' }, none: null, one: twice, two: twice }
    expect(await request.json()).toEqual({ metadata: carried })
  })

  test('only the two letters of a country are checked; the service decides the rest', async () => {
    const sandbox = openSandbox({ now: start })
    const api = clientOf(sandbox)
    expect(await api.clients.create({ country: 'ca' })).toMatchObject({ country: 'ca' })
    for (const country of ['c', 'CAN', '12', 'ç1']) {
      expect(await failure(api.clients.create({ country }))).toMatchObject({
        requestInfo: { attempts: 0 },
        errors: [{ field: 'country' }],
      })
    }
  })

  test('timeouts that no timer can keep are refused', async () => {
    const { api } = silent()
    for (const timeout of [0, -1, Number.NaN, 2 ** 31]) {
      expect(await failure(api.clients.list({}, { timeout }))).toMatchObject({
        errors: [{ field: 'timeout' }],
      })
    }
  })

  test('unknown fields of a body are sent, for a later release of the service', async () => {
    const { send, api } = silent()
    await failure(api.clients.create({ nameFirst: 'Ada', nickname: 'A' } as never))
    const [request] = send.mock.calls[0] as unknown as [Request]
    expect(await request.json()).toEqual({ nameFirst: 'Ada', nickname: 'A' })
  })
})

describe('options', () => {
  const good = { baseUrl: 'https://x.test/v2/api', apiKey: 'key_secret' }
  test.each([
    ['it must end in /v2/api', { baseUrl: 'https://x.test' }],
    ['it must end in /v2/api', { baseUrl: 'https://x.test/v2/api/verifications' }],
    ['this is not a URL', { baseUrl: 'x.test/v2/api' }],
    ['got undefined', { baseUrl: undefined }],
    ['use https or http', { baseUrl: 'ftp://x.test/v2/api' }],
    ['remove the query', { baseUrl: 'https://x.test/v2/api?x=1' }],
    ['remove the user name', { baseUrl: 'https://me:pw@x.test/v2/api' }],
    ['apiKey is missing', { apiKey: undefined }],
    ['apiKey is missing', { apiKey: '' }],
    ['white space', { apiKey: 'key_secret\n' }],
    ['timeout must be a whole number of milliseconds', { timeout: 0 }],
    ['retry.retries', { retry: -1 }],
    ["retry has no option 'tries'", { retry: { tries: 3 } }],
    ['perMinute', { limiter: 0 }],
    ['limiter must be created with createLimiter()', { limiter: {} }],
    ['pathFamily', { pathFamily: 'older' }],
    ["Did you mean 'baseUrl'?", { baseURL: 'x' }],
    ['fetch must be a function', { fetch: 'x' }],
  ])('wrong options are refused at creation: %s', (why, wrong) => {
    const make = () => createClient({ ...good, ...(wrong as object) })
    expect(make).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    expect(make).toThrow(why)
    expect(make).not.toThrow(/key_secret/)
  })

  test('a slash at the end of the base address is ignored', async () => {
    const send = vi.fn(async (_: Request) => Response.json({ id: 'c1' }))
    await createClient({
      ...good,
      baseUrl: `${good.baseUrl}/`,
      fetch: send,
      observe: () => {},
    }).clients.get('c1')
    expect(send.mock.calls[0]?.[0].url).toBe('https://x.test/v2/api/clients/c1')
  })

  test('the legacy paths are used on request, with a warning', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const send = vi.fn(async (_: Request) => Response.json({ id: 'v1' }))
    const api = createClient({ ...good, fetch: send, pathFamily: 'legacy', observe: () => {} })
    await api.verifications.get('v1')
    await api.clients.get('c1')
    expect(send.mock.calls.map(([{ url }]) => new URL(url).pathname)).toEqual([
      '/v2/api/requests/v1',
      '/v2/api/clients/c1',
    ])
    expect(warned).toHaveBeenCalledWith(expect.any(String), {
      code: 'IDV_LEGACY_PATH',
      detail: errorPage('LEGACY_PATH'),
    })
    warned.mockRestore()
  })
})
