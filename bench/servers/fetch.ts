import { toFetch } from 'idv-webhooks/fetch'
import { receiverOf } from '../contenders/idv-webhooks.ts'
import { type MakeRoute, path, workOf } from './route.ts'

export const makeRoute: MakeRoute = async (way, sample) => {
  const work = workOf(way, sample)
  if (work) {
    return {
      fetch: async (request) => {
        const body = Buffer.from(await request.arrayBuffer())
        work(body, request.headers.get('x-service-signature') ?? undefined)
        return new Response('ok')
      },
    }
  }
  if (way === 'idv-webhooks') return { fetch: toFetch(receiverOf(sample)) }
  const { octokit, createWebMiddleware } = await import('./octokit.ts')
  return { fetch: createWebMiddleware(octokit(sample), { path }) }
}
