// The least work that is still correct and constant-time, with nothing around it.
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { secret } from '../deliveries.ts'
import { type Event, olderNames, type Sample, type SetUp, wrongSignature } from './contender.ts'

const key = createSecretKey(Buffer.from(secret))
const expected = Buffer.alloc(64)
const claimed = Buffer.alloc(64)

export function verify(body: Buffer, signature: unknown): boolean {
  if (typeof signature !== 'string' || signature.length !== 64) return false
  expected.write(createHmac('sha256', key).update(body).digest('hex'), 0, 64, 'latin1')
  claimed.write(signature, 0, 64, 'latin1')
  return timingSafeEqual(expected, claimed)
}

export function verifyAndParse(body: Buffer, signature: unknown): Event {
  if (!verify(body, signature)) throw new Error('wrong signature')
  return JSON.parse(body.toString())
}

/** Verify, parse, rename, validate and call the one handler of the event's name. */
export function everything({ schema, handler }: Pick<Sample, 'schema' | 'handler'>) {
  const handlers = new Map([['verification.approved', handler]])
  const schemas = new Map([['verification.approved', schema]])
  return (body: Buffer, signature: unknown): boolean => {
    const event = verifyAndParse(body, signature)
    event.event = olderNames.get(event.event) ?? event.event
    const checked = schemas.get(event.event)?.safeParse(event.data)
    if (!checked?.success) throw checked?.error ?? new Error('unknown event')
    event.data = checked.data
    return handlers.get(event.event)?.(event) ?? false
  }
}

export const setUp: SetUp = (sample) => {
  const { body, signature } = sample
  const all = everything(sample)
  const one = async () => all(body, signature)
  return [
    { group: 'verify', name: 'limit', run: () => verify(body, signature) },
    { group: 'verify + parse', name: 'limit', run: () => !!verifyAndParse(body, signature) },
    { group: 'everything', name: 'limit', run: () => all(body, signature) },
    { group: 'everything', name: 'limit, in an async function', run: one },
    { group: 'wrong signature', name: 'limit', run: () => !verify(body, wrongSignature) },
    { group: 'missing signature', name: 'limit', run: () => !verify(body, undefined) },
  ]
}
