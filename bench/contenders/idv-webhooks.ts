// This package, through the doors that every user has.
import { createReceiver, parse, type ReceiverOptions, verify } from 'idv-webhooks'
import { headersOf, secret } from '../deliveries.ts'
import { type Sample, type SetUp, wrongSignature } from './contender.ts'

/** A receiver with one handler, as its page shows it. */
export function receiverOf({ handler }: Pick<Sample, 'handler'>, options?: ReceiverOptions) {
  const receiver = createReceiver({ secret, maxBytes: 4 << 20, ...options })
  receiver.on('verification.approved', (event) => {
    handler(event)
  })
  return receiver
}

export const setUp: SetUp = (sample) => {
  const { body, signature } = sample
  const delivery = { body, headers: headersOf(body, signature) }
  const wrong = { body, headers: headersOf(body, wrongSignature) }
  const missing = { body, headers: headersOf(body) }
  const options = { secret }
  const receive = (given?: ReceiverOptions) => {
    const receiver = receiverOf(sample, given)
    return async () => (await receiver.receive(delivery)).kind === 'handled'
  }
  const refusing = (refused: typeof delivery, given?: ReceiverOptions) => {
    const receiver = receiverOf(sample, given)
    return async () => (await receiver.receive(refused)).kind === 'rejected'
  }
  const both = async () => {
    const verified = await verify(delivery, options)
    return verified.ok && parse(verified, { validate: 'off' }).ok
  }
  const secrets = [
    { id: 'new', value: secret },
    { id: 'old', value: 'an-older-secret-0123456789' },
  ]
  const name = 'idv-webhooks'
  return [
    { group: 'verify', name, run: async () => (await verify(delivery, options)).ok },
    { group: 'verify + parse', name, run: both },
    {
      group: 'verify + parse',
      name: `${name} receive(), validate: 'off'`,
      run: receive({ secret, validate: 'off' }),
    },
    { group: 'everything', name, run: receive() },
    { group: 'everything', name: `${name}, two secrets`, run: receive({ secret: secrets }) },
    { group: 'everything', name: `${name}, observed`, run: receive({ secret, observe() {} }) },
    {
      group: 'wrong signature',
      name: `${name} verify()`,
      run: async () => !(await verify(wrong, options)).ok,
    },
    { group: 'wrong signature', name, run: refusing(wrong) },
    {
      group: 'missing signature',
      name: `${name} verify()`,
      run: async () => !(await verify(missing, options)).ok,
    },
    { group: 'missing signature', name, run: refusing(missing) },
  ]
}
