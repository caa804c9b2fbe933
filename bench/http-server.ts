// One route behind a real server, in a process of its own: node http-server.ts <framework> <way>.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { sampleOf } from './areas/process.ts'
import { type Framework, loadRoute } from './servers/load.ts'
import type { Way } from './servers/route.ts'

const [framework, way] = process.argv.slice(2) as [Framework, Way]
const makeRoute = await loadRoute(framework)
const route = await makeRoute(way, sampleOf('2K'))
if (!route) throw new Error(`${framework} has no route of ${way}`)
const listener: RequestListener =
  'fetch' in route ? getRequestListener(route.fetch) : route.listener
const server = createServer(listener)
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`port ${(server.address() as AddressInfo).port}\n`)
})
