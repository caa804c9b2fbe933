import { createReceiver } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { publicKey } from 'idv-webhooks/keys'
import {
  type Attempt,
  createSandbox,
  type DeliverySummary,
  type Sandbox,
  type SandboxClock,
  type SandboxDeliveries,
  type SandboxDelivery,
  type SandboxFaults,
  type SandboxOptions,
} from 'idv-webhooks/sandbox'
import { vendors } from 'idv-webhooks/vendors'
import { expectTypeOf, test } from 'vitest'

declare const sandbox: Sandbox

test('deliveries and their attempts are typed', () => {
  expectTypeOf(sandbox.deliveries.list()).toEqualTypeOf<readonly DeliverySummary[]>()
  expectTypeOf(sandbox.deliveries.get('x')).toEqualTypeOf<SandboxDelivery | undefined>()
  expectTypeOf(sandbox.deliveries.resend('x')).toEqualTypeOf<SandboxDelivery | undefined>()
  expectTypeOf<SandboxDelivery['attempts'][number]>().toExtend<Attempt>()
  expectTypeOf<SandboxDelivery['status']>().toEqualTypeOf<
    'pending' | 'delivered' | 'failed' | 'dropped' | 'held'
  >()
})

test('the parts of a sandbox have the types that the door exports', () => {
  expectTypeOf(sandbox.clock).toEqualTypeOf<SandboxClock>()
  expectTypeOf(sandbox.faults).toEqualTypeOf<SandboxFaults>()
  expectTypeOf(sandbox.deliveries).toEqualTypeOf<SandboxDeliveries>()
})

test('deliveries are sent by a mounted receiver, the global fetch or another sandbox', () => {
  const receiver = createReceiver({ secret: 'a-secret' })
  expectTypeOf(createSandbox).toBeCallableWith({ fetch: toFetch(receiver) })
  expectTypeOf(fetch).toExtend<NonNullable<SandboxOptions['fetch']>>()
  expectTypeOf(sandbox.fetch).toExtend<NonNullable<SandboxOptions['fetch']>>()
})

test('a sandbox that plays a vendor gives what its preset and its receiver take', () => {
  expectTypeOf(createSandbox).toBeCallableWith({ vendor: 'plaid' })
  expectTypeOf(createSandbox).toBeCallableWith({ vendor: vendors.veriff() })
  expectTypeOf(vendors.plaid).toBeCallableWith({ api: sandbox.api })
  expectTypeOf(publicKey).toBeCallableWith(sandbox.publicKey)
})
