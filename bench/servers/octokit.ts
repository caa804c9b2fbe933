import { createNodeMiddleware, createWebMiddleware, Webhooks } from '@octokit/webhooks'
import { type Event, finish, type Sample } from '../contenders/contender.ts'
import { secret } from '../deliveries.ts'

export { createNodeMiddleware, createWebMiddleware }

export function octokit(sample: Sample): Webhooks {
  const webhooks = new Webhooks({ secret })
  webhooks.on('check_run', ({ payload }) => void finish(payload as unknown as Event, sample))
  return webhooks
}
