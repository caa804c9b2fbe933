import Stripe from 'stripe'
import { secret } from '../deliveries.ts'
import { type Event, finish, type SetUp, throws, wrongSignature } from './contender.ts'

const name = 'stripe'

export const setUp: SetUp = (sample) => {
  const { body } = sample
  const { webhooks } = new Stripe('sk_test_bench')
  const header = webhooks.generateTestHeaderString({ payload: body.toString(), secret })
  const wrong = `${header.split(',')[0]},v1=${wrongSignature}`
  // No tolerance: the run may last longer than it.
  const read = (given = header) => webhooks.constructEvent(body, given, secret, 0) as unknown
  return [
    { group: 'verify + parse', name, run: () => !!read() },
    { group: 'everything', name, run: async () => finish(read() as Event, sample) },
    { group: 'wrong signature', name: `${name} (throws)`, run: () => throws(() => read(wrong)) },
    { group: 'missing signature', name: `${name} (throws)`, run: () => throws(() => read('')) },
  ]
}
