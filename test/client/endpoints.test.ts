import { describe, expect, test } from 'vitest'
import { type ApiClient, createClient } from '../../src/client/index.ts'
import {
  assembledVerificationSchema,
  clientSchema,
  verificationSchema,
} from '../../src/protocol/index.ts'
import { clientOf, failure, openSandbox, start } from './service.ts'

const input = { type: 'kyc', requirements: ['document', 'consent'] } as const

const ways = {
  'by fetch injection': async (sandbox) => clientOf(sandbox),
  'over HTTP': async (sandbox) => {
    const { url } = await sandbox.listen()
    return createClient({ baseUrl: `${url}/v2/api`, apiKey: 'key_acme' })
  },
  'by the legacy paths': async (sandbox) => clientOf(sandbox, { pathFamily: 'legacy' }),
} satisfies Record<string, (sandbox: ReturnType<typeof openSandbox>) => Promise<ApiClient>>

describe.each(Object.entries(ways))('%s', (_, connect) => {
  const open = async () => {
    const sandbox = openSandbox({ now: start })
    return { sandbox, api: await connect(sandbox) }
  }

  test('a verification is created with every field and read back assembled', async () => {
    const { api } = await open()
    const client = await api.clients.create({ nameFirst: 'Robin', email: 'robin@example.com' })
    const matterId = '5d0c2a3e-8b7f-4f43-9a3c-1f6e0b7f2a11'
    const made = await api.verifications.create({
      ...input,
      clientId: client.id,
      matterId,
      subjectName: 'Robin Example',
      subjectEmail: 'other@example.com',
      subjectPhone: '+1-555-0100',
      expiresDays: 30,
      config: { document: { sides: 2 } },
      thirdParties: [{ name: 'Bank', email: 'bank@example.com', sharedFields: ['person'] }],
    })
    expect(verificationSchema.parse(made)).toMatchObject({
      status: 'initiated',
      clientId: client.id,
      matterId,
      subjectEmail: 'other@example.com',
      expiresDays: 30,
    })
    const got = await api.verifications.get(made.id)
    expect(assembledVerificationSchema.parse(got)).toMatchObject({ ...made, score: null })
  })

  test('every filter and sort of verifications reaches the service', async () => {
    const { sandbox, api } = await open()
    const first = await api.verifications.create({ ...input, subjectName: 'Ada One' })
    await sandbox.clock.advance({ seconds: 60 })
    const client = await api.clients.create()
    const matterId = '5d0c2a3e-8b7f-4f43-9a3c-1f6e0b7f2a11'
    const second = await api.verifications.create({
      type: 'idv',
      requirements: ['person'],
      clientId: client.id,
      matterId,
      subjectName: 'Bo Two',
    })
    await sandbox.act(first.id, ['start', 'submit', 'approve'])
    const ids = async (query: Parameters<typeof api.verifications.list>[0]) =>
      (await api.verifications.list(query)).data.map(({ id }) => id)
    expect(await ids({})).toEqual([second.id, first.id])
    expect(await ids({ type: 'idv' })).toEqual([second.id])
    expect(await ids({ status: 'approved' })).toEqual([first.id])
    expect(await ids({ status: ['approved', 'initiated'] })).toEqual([second.id, first.id])
    expect(await ids({ clientId: client.id })).toEqual([second.id])
    expect(await ids({ matterId })).toEqual([second.id])
    expect(await ids({ search: 'ada' })).toEqual([first.id])
    expect(await ids({ dateFrom: new Date('2026-03-01T10:00:30Z') })).toEqual([second.id])
    expect(await ids({ dateTo: '2026-03-01T12:00:30+02:00' })).toEqual([first.id])
    expect(await ids({ sort: 'status' })).toEqual([second.id, first.id])
    expect(await ids({ page: 2, limit: 1 })).toEqual([first.id])
  })

  test('clients are created, listed by every parameter, and read', async () => {
    const { api } = await open()
    const person = await api.clients.create({
      nameFirst: 'Ada',
      nameLast: 'Zed',
      externalId: 'crm-1',
      metadata: { tier: 2 },
    })
    const firm = await api.clients.create({
      businessName: 'Acme',
      memberType: 'business',
      country: 'DE',
    })
    expect(clientSchema.parse(person)).toMatchObject({ active: true, metadata: { tier: 2 } })
    expect(await api.clients.get(firm.id)).toEqual(firm)
    const ids = async (query: Parameters<typeof api.clients.list>[0]) =>
      (await api.clients.list(query)).data.map(({ id }) => id)
    expect(await ids({ search: 'crm-1' })).toEqual([person.id])
    expect(await ids({ memberType: 'business' })).toEqual([firm.id])
    expect(await ids({ active: true })).toHaveLength(2)
    expect(await ids({ active: 'false' })).toEqual([])
    expect(await ids({ sort: 'name', limit: 1, page: 1 })).toEqual([firm.id])
    expect((await api.clients.list({ limit: 1 })).pagination).toEqual({
      page: 1,
      limit: 1,
      total: 2,
      totalPages: 2,
      hasNext: true,
      hasPrev: false,
    })
  })
})

describe('documented errors', () => {
  const unknown = '00000000-0000-4000-8000-000000000000'
  test.each([
    ['key_revoked', 'UnauthorizedError', 401, 'UNAUTHORIZED'],
    ['key_unpaid', 'PaymentRequiredError', 402, 'PAYMENT_REQUIRED'],
    ['key_noplan', 'ForbiddenError', 403, 'FORBIDDEN'],
    ['key_acme', 'NotFoundError', 404, 'NOT_FOUND'],
  ])('the key %s gets %s', async (apiKey, name, status, code) => {
    const api = clientOf(openSandbox(), { apiKey })
    const error = await failure(api.verifications.get(unknown))
    expect(error).toMatchObject({
      name,
      status,
      code,
      requestInfo: {
        endpoint: 'getVerification',
        method: 'GET',
        path: `/verifications/${unknown}`,
        attempts: 1,
      },
    })
  })

  test('another organization’s resource is not found', async () => {
    const sandbox = openSandbox()
    const { id } = await clientOf(sandbox).verifications.create(input)
    const other = clientOf(sandbox, { apiKey: 'key_globex' })
    expect(await failure(other.verifications.get(id))).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('faults that only the service can see return as fields of a ValidationError', async () => {
    const api = clientOf(openSandbox())
    const error = await failure(api.verifications.create({ ...input, clientId: unknown }))
    expect(error).toMatchObject({
      name: 'ValidationError',
      status: 422,
      errors: [{ field: 'clientId', message: 'names no client of this organization' }],
      requestInfo: { attempts: 1 },
    })
  })

  test('a 429 carries the rate-limit headers', async () => {
    const api = clientOf(openSandbox({ now: start, rateLimit: 1 }), { retry: false })
    await api.clients.list()
    expect(await failure(api.clients.list())).toMatchObject({
      name: 'RateLimitedError',
      code: 'RATE_LIMITED',
      retryAfter: 60,
      limit: 1,
      remaining: 0,
    })
  })
})
