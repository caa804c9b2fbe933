import { createServer } from 'node:http'
import { toNode } from 'idv-webhooks/node'
import { receiver, serve } from './receiver.mjs'

const listener = toNode(receiver)

/** As a framework over fetch would do it. */
async function asFetch(request, response) {
  const { method, headers } = request
  const body = method === 'POST' ? Buffer.concat(await request.toArray()) : undefined
  const reply = await serve(new Request('http://app.test/', { method, headers, body }))
  response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text())
}

const isNode = process.argv[2] === 'node'
const server = createServer((request, response) =>
  isNode && request.method === 'POST' ? listener(request, response) : asFetch(request, response),
)
server.listen(0, '127.0.0.1', () => console.log(`port: ${server.address().port}`))
