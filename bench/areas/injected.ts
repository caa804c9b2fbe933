// Whole requests without sockets: they are injected into each framework inside this process, so
// that what is measured is the route and not the network.
import type { RequestListener } from 'node:http'
import inject from 'light-my-request'
import { type Contender, compare, quick, thorough } from '../compare.ts'
import { headersOf, type Size } from '../deliveries.ts'
import type { Area, Column, Section, Target } from '../section.ts'
import { type Framework, frameworks, loadRoute } from '../servers/load.ts'
import { type FetchHandler, path, ways } from '../servers/route.ts'
import { sampleOf } from './process.ts'

const columns: readonly Column[] = [
  { key: 'cpu', label: 'CPU, µs (median)', unit: 'us' },
  { key: 'low', label: '10th percentile', unit: 'us' },
  { key: 'high', label: '90th', unit: 'us' },
  { key: 'bare', label: 'of the bare route', unit: 'ratio', agree: 0.05 },
  { key: 'hand', label: 'of the hand-written', unit: 'ratio', agree: 0.05 },
  { key: 'promised', label: 'of that with the same promises', unit: 'ratio', agree: 0.05 },
  { key: 'peer', label: "of octokit's", unit: 'ratio', agree: 0.05 },
]

/** The headers that every way needs, its own and the others'. */
export function requestHeaders(body: Uint8Array, signature: string): Record<string, string> {
  return {
    ...headersOf(body, signature),
    'x-hub-signature-256': `sha256=${signature}`,
    'x-github-event': 'check_run',
    'x-github-delivery': '1',
  }
}

async function measureSize(size: Size, isQuick: boolean): Promise<Section[]> {
  const sample = sampleOf(size)
  const { body } = sample
  const headers = requestHeaders(body, sample.signature)
  const overNode = (listener: RequestListener) => async () => {
    const { statusCode } = await inject(listener, {
      method: 'POST',
      url: path,
      headers,
      payload: body,
    })
    if (statusCode !== 200) throw new Error(`answered ${statusCode}`)
    return true
  }
  const overFetch = (handler: FetchHandler) => async () => {
    const request = new Request(`http://localhost${path}`, { method: 'POST', headers, body })
    const response = await handler(request)
    if (response.status !== 200) throw new Error(`answered ${response.status}`)
    await response.text()
    return true
  }
  const contenders: Contender[] = []
  for (const framework of frameworks) {
    const makeRoute = await loadRoute(framework)
    for (const way of ways) {
      const route = await makeRoute(way, sample)
      if (!route) continue
      const run = 'fetch' in route ? overFetch(route.fetch) : overNode(route.listener)
      contenders.push({ group: framework, name: way, run })
    }
  }
  const found = await compare(contenders, isQuick ? quick : thorough)
  return frameworks.map((framework) => ({
    id: `injected-${framework}-${size}`,
    title: `Injected requests, ${framework}, ${size}`,
    columns,
    chart: 'bare',
    rows: found
      .filter(({ group }) => group === framework)
      .map(({ name, cpu, low, high, faster }) => {
        const values: Record<string, number> = { cpu, low, high, bare: faster.bare ?? 0 }
        if (name !== 'hand-written') values.hand = faster['hand-written'] ?? 0
        const peer = faster['@octokit/webhooks']
        const promised = faster['hand-written, same promises']
        if (promised !== undefined && name === 'idv-webhooks') values.promised = promised
        if (peer !== undefined && name === 'idv-webhooks') values.peer = peer
        return { name, ours: name === 'idv-webhooks', values }
      }),
    targets: targetsOf(framework, size),
  }))
}

function targetsOf(framework: Framework, size: Size): Target[] {
  if (size !== '2K') return []
  const atLeast = framework === 'express' ? 1.1 : 0.97
  return [{ row: 'idv-webhooks', column: 'hand', atLeast }]
}

export const area: Area = {
  name: 'injected',
  runs: 2,
  async measure({ quick: isQuick, only: wanted = ['2K', '256K'] }) {
    const sections = []
    for (const size of wanted as Size[]) sections.push(...(await measureSize(size, isQuick)))
    return sections
  },
}
