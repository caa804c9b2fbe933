import { Webhook } from 'svix'
import { encodedSecret, freshHeaders } from '../deliveries.ts'
import type { SetUp } from './contender.ts'

export const setUp: SetUp = ({ body }) => {
  const webhook = new Webhook(encodedSecret)
  const fresh = freshHeaders(body, 'svix')
  const verify = () => {
    webhook.verify(body, fresh())
    return true
  }
  return [{ group: 'verify', name: 'svix', run: verify }]
}
