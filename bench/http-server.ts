// One route behind a real server, in a process of its own: node http-server.ts <framework> <way>.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { toNodeHandler } from 'srvx/node'
import { sampleOf } from './areas/process.ts'
import { type Framework, loadRoute } from './servers/load.ts'
import type { FetchHandler, Way } from './servers/route.ts'

const [framework, way] = process.argv.slice(2) as [Framework | 'srvx', Way]
const isSrvx = framework === 'srvx'
const makeRoute = await loadRoute(isSrvx ? 'fetch' : framework)
const route = await makeRoute(way, sampleOf('2K'))
if (!route) throw new Error(`${framework} has no route of ${way}`)
const overFetch = (handler: FetchHandler) =>
  (isSrvx ? toNodeHandler(handler) : getRequestListener(handler)) as RequestListener
const listener = 'fetch' in route ? overFetch(route.fetch) : route.listener
const server = createServer(listener)
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`)
})
