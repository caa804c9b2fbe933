// One route whose requests are injected, in a process of its own: node injected.ts <framework>
// <way> <size>. Prints microseconds of CPU for a request, garbage collection included.
import type { RequestListener } from 'node:http'
import inject from 'light-my-request'
import { sampleOf } from './areas/process.ts'
import { requestHeaders, type Size } from './deliveries.ts'
import { type Framework, loadRoute } from './servers/load.ts'
import { type FetchHandler, path, type Way } from './servers/route.ts'

const [framework, way, size] = process.argv.slice(2) as [Framework, Way, Size]
const sample = sampleOf(size)
const { body, signature } = sample
const headers = requestHeaders(body, signature)

const overNode = (listener: RequestListener) => async () => {
  const request = { method: 'POST', url: path, headers, payload: body } as const
  return (await inject(listener, request)).statusCode
}

const overFetch = (handler: FetchHandler) => async () => {
  const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body })
  const response = await handler(request)
  await response.text()
  return response.status
}

const route = await (await loadRoute(framework))(way, sample)
if (!route) throw new Error(`${framework} has no route of ${way}`)
const send = 'fetch' in route ? overFetch(route.fetch) : overNode(route.listener)

async function sendAll(requests: number): Promise<void> {
  for (let at = 0; at < requests; at++) {
    const status = await send()
    if (status !== 200) throw new Error(`answered ${status}`)
  }
}

const requests = size === '2K' ? 30_000 : 2_000
await sendAll(requests)
const before = process.cpuUsage()
await sendAll(requests)
const { user, system } = process.cpuUsage(before)
process.stdout.write(String((user + system) / requests))
