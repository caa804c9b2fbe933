import { Webhook } from 'standardwebhooks'
import { encodedSecret, freshHeaders } from '../deliveries.ts'
import { type Event, finish, type SetUp, throws } from './contender.ts'

const name = 'standardwebhooks'

export const setUp: SetUp = (sample) => {
  const { body } = sample
  const webhook = new Webhook(encodedSecret)
  const fresh = freshHeaders(body, 'webhook')
  const verify = () => {
    webhook.verify(body, fresh(), { jsonParse: false })
    return true
  }
  const read = () => webhook.verify(body, fresh()) as Event
  const wrong = () => ({
    ...fresh(),
    'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
  })
  return [
    { group: 'verify', name, run: verify },
    { group: 'verify + parse', name, run: () => !!read() },
    { group: 'everything', name, run: async () => finish(read(), sample) },
    {
      group: 'wrong signature',
      name: `${name} (throws)`,
      run: () => throws(() => webhook.verify(body, wrong())),
    },
    {
      group: 'missing signature',
      name: `${name} (throws)`,
      run: () => throws(() => webhook.verify(body, {})),
    },
  ]
}
