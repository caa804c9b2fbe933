import { toFetch } from 'idv-webhooks/fetch'
import { receiverOf } from '../contenders/idv-webhooks.ts'
import { fetchPromised, promisedHeaders, promisedReply, promisedWork } from './promised.ts'
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
  if (way === 'hand-written, same promises') {
    const take = promisedWork(sample)
    const headers = { 'content-type': promisedHeaders['content-type'] }
    return {
      fetch: async (request) => {
        await take({ body: await fetchPromised(request), headers: [...request.headers].flat() })
        return new Response(promisedReply, { headers })
      },
    }
  }
  if (way === 'idv-webhooks') return { fetch: toFetch(receiverOf(sample)) }
  const { octokit, createWebMiddleware } = await import('./octokit.ts')
  return { fetch: createWebMiddleware(octokit(sample), { path }) }
}
