import express from 'express'
import { toExpress } from 'idv-webhooks/express'
import { receiverOf } from '../contenders/idv-webhooks.ts'
import { promisedHeaders, promisedReply, promisedWork, readPromised } from './promised.ts'
import { type MakeRoute, maxBytes, path, signatureOf, workOf } from './route.ts'

export const makeRoute: MakeRoute = async (way, sample) => {
  const app = express()
  const work = workOf(way, sample)
  if (work) {
    // The recipe of every sender's page.
    app.post(path, express.raw({ type: '*/*', limit: maxBytes }), (request, response) => {
      work(request.body, signatureOf(request))
      response.send('ok')
    })
  } else if (way === 'hand-written, same promises') {
    const take = promisedWork(sample)
    app.post(path, async (request, response) => {
      await take({ body: await readPromised(request), headers: request.rawHeaders })
      response.writeHead(200, promisedHeaders).end(promisedReply)
    })
  } else if (way === 'idv-webhooks') {
    app.post(path, toExpress(receiverOf(sample)))
  } else {
    const { octokit, createNodeMiddleware } = await import('./octokit.ts')
    app.use(createNodeMiddleware(octokit(sample), { path }))
  }
  return { listener: app }
}
