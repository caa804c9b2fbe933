import { createReceiver } from 'idv-webhooks'
import {
  type ApiClient,
  ApiError,
  createClient,
  NotFoundError,
  OutcomeUnknownError,
  RateLimitedError,
  reconcile,
  ValidationError,
} from 'idv-webhooks/client'
import type { AssembledVerification, Client, Verification } from 'idv-webhooks/protocol'
import { expectTypeOf, test } from 'vitest'

const client = createClient({ baseUrl: 'https://x.test/v2/api', apiKey: process.env.IDV_API_KEY })

test('each call gives its resource', () => {
  expectTypeOf(client).toEqualTypeOf<ApiClient>()
  expectTypeOf(client.verifications.get).returns.resolves.toEqualTypeOf<AssembledVerification>()
  expectTypeOf(client.verifications.get).returns.resolves.toHaveProperty('score')
  expectTypeOf(client.verifications.create).returns.resolves.toEqualTypeOf<Verification>()
  expectTypeOf(client.clients.get).returns.resolves.toEqualTypeOf<Client>()
  expectTypeOf<Awaited<ReturnType<typeof client.clients.list>>['data']>().toEqualTypeOf<
    readonly Client[]
  >()
  expectTypeOf(client.verifications.iterate).returns.toExtend<AsyncIterable<Verification>>()
})

test('filters, sorts and bodies are literal types', () => {
  client.verifications.list({ status: ['approved', 'rejected'], sort: 'updated_at', type: 'kyc' })
  client.verifications.list({ status: 'approved', dateFrom: new Date(), dateTo: '2026-01-01' })
  client.clients.list({ sort: 'name', active: true, memberType: 'business' })
  const frozen = { type: 'idv', requirements: ['document'] } as const
  client.verifications.create(frozen)
  // @ts-expect-error there is no such status
  client.verifications.list({ status: 'aproved' })
  // @ts-expect-error nor in a list
  client.verifications.list({ status: ['approved', 'done'] })
  // @ts-expect-error clients are not sorted by it
  client.clients.list({ sort: 'updated_at' })
  // @ts-expect-error verifications are not sorted by it
  client.verifications.iterate({ sort: 'name' })
  // @ts-expect-error a walk chooses its own pages
  client.verifications.iterate({ page: 2 })
  // @ts-expect-error there is no such step
  client.verifications.create({ type: 'idv', requirements: ['passport'] })
  // @ts-expect-error requirements are needed
  client.verifications.create({ type: 'idv' })
  // @ts-expect-error a typing error is told
  client.clients.create({ firstName: 'Ada' })
  // @ts-expect-error the walk into an array needs a cap
  client.clients.iterate().toArray()
})

test('a value that the service adds later does not break an exhaustive switch', async () => {
  const { status } = await client.verifications.get('v1')
  const say = () => {
    switch (status) {
      case 'initiated':
      case 'in_progress':
      case 'submitted':
      case 'pending_review':
        return 'open'
      case 'approved':
      case 'rejected':
      case 'canceled':
      case 'expired':
        return 'ended'
      default:
        expectTypeOf(status).not.toBeNever()
        return status
    }
  }
  expectTypeOf(say).returns.toExtend<string>()
})

test('errors narrow by their class', () => {
  const say = (error: unknown) => {
    if (error instanceof NotFoundError) expectTypeOf(error.code).toEqualTypeOf<'NOT_FOUND'>()
    if (error instanceof ValidationError) expectTypeOf(error.errors).not.toBeAny()
    if (error instanceof RateLimitedError) {
      expectTypeOf(error.retryAfter).toEqualTypeOf<number | undefined>()
    }
    if (error instanceof OutcomeUnknownError) {
      expectTypeOf(error.code).toEqualTypeOf<'OUTCOME_UNKNOWN'>()
    }
    if (error instanceof ApiError) expectTypeOf(error.requestInfo.path).toBeString()
  }
  expectTypeOf(say).not.toBeAny()
})

test('options that cannot hold do not compile', () => {
  // @ts-expect-error an address is needed
  createClient({ apiKey: 'k' })
  // @ts-expect-error one of two words
  createClient({ baseUrl: '', apiKey: '', pathFamily: 'old' })
})

test('a client fits the receiver, and context.fetch() is typed by the event', () => {
  const receiver = createReceiver({ secret: 's', client })
  receiver.on('verification.approved', async (_, context) => {
    expectTypeOf(await context.fetch()).toEqualTypeOf<AssembledVerification | null>()
  })
  receiver.on('client.deleted', async (_, context) => {
    expectTypeOf(await context.fetch()).toEqualTypeOf<Client | null>()
  })
  reconcile({ client, receiver, since: new Date() })
})
