import type { IncomingMessage } from 'node:http'
import fastify from 'fastify'
import { toFastify } from 'idv-webhooks/fastify'
import { receiverOf } from '../contenders/idv-webhooks.ts'
import { promisedHeaders, promisedReply, promisedWork, readPromised } from './promised.ts'
import { type MakeRoute, maxBytes, path, signatureOf, workOf } from './route.ts'

export const makeRoute: MakeRoute = async (way, sample) => {
  const app = fastify({ bodyLimit: maxBytes })
  const work = workOf(way, sample)
  if (work) {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_, body, done) => done(null, body))
    app.post(path, (request, reply) => {
      work(request.body as Buffer, signatureOf(request.raw))
      reply.send('ok')
    })
  } else if (way === 'hand-written, same promises') {
    const take = promisedWork(sample)
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_, payload, done) => {
      readPromised(payload as IncomingMessage).then((body) => done(null, body), done)
    })
    app.post(path, async (request, reply) => {
      await take({ body: request.body as Buffer, headers: request.raw.rawHeaders })
      return reply.headers(promisedHeaders).send(promisedReply)
    })
  } else if (way === 'idv-webhooks') {
    await app.register(toFastify(receiverOf(sample)), { path })
  } else {
    // Fastify has no middleware of its own, and octokit none for Fastify.
    return undefined
  }
  await app.ready()
  return { listener: (request, response) => app.routing(request, response) }
}
