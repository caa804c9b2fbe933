import { Webhooks } from '@octokit/webhooks'
import { secret } from '../deliveries.ts'
import { type Event, finish, type SetUp, wrongSignature } from './contender.ts'

const name = '@octokit/webhooks'

export const setUp: SetUp = (sample) => {
  const { body, handler } = sample
  const signature = `sha256=${sample.signature}`
  const parsing = new Webhooks({ secret })
  parsing.on('check_run', ({ payload }) => void handler(payload))
  const validating = new Webhooks({ secret })
  validating.on('check_run', ({ payload }) => void finish(payload as unknown as Event, sample))
  const receive = (webhooks: Webhooks) => async () => {
    const payload = body.toString()
    await webhooks.verifyAndReceive({ id: '1', name: 'check_run', payload, signature })
    return true
  }
  const refuse = async () => !(await parsing.verify(body.toString(), `sha256=${wrongSignature}`))
  return [
    { group: 'verify', name, run: () => parsing.verify(body.toString(), signature) },
    { group: 'verify + parse', name, run: receive(parsing) },
    { group: 'everything', name, run: receive(validating) },
    { group: 'wrong signature', name: `${name} verify()`, run: refuse },
  ]
}
