import { verifyWebhook } from '@clerk/backend/webhooks'
import { encodedSecret, freshHeaders } from '../deliveries.ts'
import type { SetUp } from './contender.ts'

export const setUp: SetUp = ({ body }) => {
  const fresh = freshHeaders(body, 'svix')
  const run = async () => {
    const request = new Request('http://localhost/', { method: 'POST', headers: fresh(), body })
    return !!(await verifyWebhook(request, { signingSecret: encodedSecret }))
  }
  return [{ group: 'verify + parse', name: '@clerk/backend (with its Request)', run }]
}
