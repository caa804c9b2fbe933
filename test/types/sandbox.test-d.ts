import type { Attempt, Delivery, DeliverySummary, Sandbox } from 'idv-webhooks/sandbox'
import { expectTypeOf, test } from 'vitest'

declare const sandbox: Sandbox

test('deliveries and their attempts are typed', () => {
  expectTypeOf(sandbox.deliveries.list()).toEqualTypeOf<readonly DeliverySummary[]>()
  expectTypeOf(sandbox.deliveries.get('x')).toEqualTypeOf<Delivery | undefined>()
  expectTypeOf(sandbox.deliveries.resend('x')).toEqualTypeOf<Delivery | undefined>()
  expectTypeOf<Delivery['attempts'][number]>().toExtend<Attempt>()
  expectTypeOf<Delivery['status']>().toEqualTypeOf<
    'pending' | 'delivered' | 'failed' | 'dropped' | 'held'
  >()
})
