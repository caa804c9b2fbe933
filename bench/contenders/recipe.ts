// The code that a team writes by hand from a sender's page: a secret as text, hex strings, two
// Buffers.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { secret } from '../deliveries.ts'
import { type Event, finish, type SetUp, throws, wrongSignature } from './contender.ts'

export function verifyAndParse(body: Buffer, signature: string | undefined): Event {
  const expected = Buffer.from(createHmac('sha256', secret).update(body).digest('hex'))
  const claimed = Buffer.from(signature ?? '')
  if (expected.length !== claimed.length || !timingSafeEqual(expected, claimed)) {
    throw new Error('wrong signature')
  }
  return JSON.parse(body.toString('utf8'))
}

export const setUp: SetUp = (sample) => {
  const { body, signature } = sample
  const name = 'hand-written recipe'
  const all = async () => finish(verifyAndParse(body, signature), sample)
  const refusing = (claim?: string) => () => throws(() => verifyAndParse(body, claim))
  return [
    { group: 'verify + parse', name, run: () => !!verifyAndParse(body, signature) },
    { group: 'everything', name, run: all },
    { group: 'wrong signature', name: `${name} (throws)`, run: refusing(wrongSignature) },
  ]
}
