import { toNode } from 'idv-webhooks/node'
import { receiverOf } from '../contenders/idv-webhooks.ts'
import { promisedHeaders, promisedReply, promisedWork, readPromised } from './promised.ts'
import { type MakeRoute, path, readBody, signatureOf, workOf } from './route.ts'

export const makeRoute: MakeRoute = async (way, sample) => {
  const work = workOf(way, sample)
  if (work) {
    return {
      listener: async (request, response) => {
        try {
          work(await readBody(request), signatureOf(request))
          response.writeHead(200, { 'content-type': 'text/plain' }).end('ok')
        } catch {
          response.writeHead(401).end()
        }
      },
    }
  }
  if (way === 'hand-written, same promises') {
    const take = promisedWork(sample)
    return {
      listener: async (request, response) => {
        try {
          await take({ body: await readPromised(request), headers: request.rawHeaders })
          response.writeHead(200, promisedHeaders).end(promisedReply)
        } catch {
          response.writeHead(401).end()
        }
      },
    }
  }
  if (way === 'idv-webhooks') return { listener: toNode(receiverOf(sample)) }
  const { octokit, createNodeMiddleware } = await import('./octokit.ts')
  return { listener: createNodeMiddleware(octokit(sample), { path }) }
}
