// Whole requests without sockets: they are injected into each framework, so that what is measured
// is the route and not the network. Each way runs in processes of its own, in turns: inside one
// process a way would pay for the garbage of the way before it.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { median, quantile } from '../compare.ts'
import type { Size } from '../deliveries.ts'
import type { Area, Column, Section, Target } from '../section.ts'
import { type Framework, frameworks } from '../servers/load.ts'
import { type Way, ways } from '../servers/route.ts'

const program = join(import.meta.dirname, '../injected.ts')

const columns: readonly Column[] = [
  { key: 'cpu', label: 'CPU, µs (median)', unit: 'us' },
  { key: 'low', label: 'lowest process', unit: 'us' },
  { key: 'high', label: 'highest', unit: 'us' },
  { key: 'bare', label: 'of the bare route', unit: 'ratio' },
  { key: 'hand', label: 'of the recipe', unit: 'ratio' },
  { key: 'promised', label: 'of the same promises by hand', unit: 'ratio' },
  { key: 'peer', label: 'of @octokit/webhooks', unit: 'ratio' },
]

/** Fastify has no middleware of that peer. */
const hasRoute = (framework: Framework, way: Way) =>
  framework !== 'fastify' || way !== '@octokit/webhooks'

function costOf(framework: Framework, way: Way, size: Size): number {
  return Number(execFileSync(process.execPath, [program, framework, way, size]))
}

function measureFramework(framework: Framework, size: Size, rounds: number): Section {
  const all = ways
    .filter((way) => hasRoute(framework, way))
    .map((way) => ({ way, costs: [] as number[] }))
  for (let round = 0; round < rounds; round++) {
    for (const { way, costs } of all) costs.push(costOf(framework, way, size))
  }
  const rows = all.map(({ way, costs }) => {
    const of = (other: Way) => {
      const others = all.find((one) => one.way === other)?.costs
      return others && others !== costs ? median(others) / median(costs) : undefined
    }
    const values = {
      cpu: median(costs),
      low: quantile(costs, 0),
      high: quantile(costs, 1),
      bare: of('bare'),
      hand: of('hand-written'),
      promised: of('hand-written, same promises'),
      peer: of('@octokit/webhooks'),
    }
    return { name: way, ours: way === 'idv-webhooks', values }
  })
  return {
    id: `injected-${framework}-${size}`,
    title: `Injected requests, ${framework}, ${size}`,
    columns,
    chart: 'cpu',
    rows,
    targets: targetsOf(framework, size),
  }
}

function targetsOf(framework: Framework, size: Size): Target[] {
  if (size !== '2K') return []
  const row = 'idv-webhooks'
  const recipe: Target[] = framework === 'express' ? [{ row, column: 'hand', atLeast: 1.15 }] : []
  return [...recipe, { row, column: 'promised', atLeast: 0.97 }]
}

export const area: Area = {
  name: 'injected',
  published: [
    {
      name: 'whole requests',
      sections: /^injected-.*-2K$/,
      rows: /^idv-webhooks$/,
      columns: ['promised', 'hand', 'peer'],
    },
  ],
  runs: 1,
  async measure({ quick, only: wanted = ['2K'] }) {
    return (wanted as Size[]).flatMap((size) =>
      frameworks.map((framework) => measureFramework(framework, size, quick ? 1 : 4)),
    )
  },
}
