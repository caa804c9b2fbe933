// One delivery inside the process, without HTTP: how much of the limit's speed is left when
// everything is on, and what a refusal costs. Allocations are an area of their own.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { eventSchemas } from 'idv-webhooks/protocol'
import { compare, quick, thorough } from '../compare.ts'
import type { Group, Sample, SetUp } from '../contenders/contender.ts'
import { digest, makeBody, type Size, sizes } from '../deliveries.ts'
import type { Area, Column, Section, Target } from '../section.ts'

const folder = join(import.meta.dirname, '../contenders')

/** Every way of taking a delivery, in the order of the tables. */
export async function contenders(sample: Sample) {
  const first = ['limit.ts', 'recipe.ts', 'idv-webhooks.ts']
  const rest = readdirSync(folder).filter((file) => ![...first, 'contender.ts'].includes(file))
  const all = []
  for (const file of [...first, ...rest.sort()]) {
    const { setUp }: { setUp: SetUp } = await import(join(folder, file))
    all.push(...setUp(sample))
  }
  return all
}

export function sampleOf(size: Size): Sample {
  const body = makeBody(size)
  const schema = eventSchemas['verification.approved']
  return { body, signature: digest(body), schema, handler: (event) => event !== undefined }
}

const columns: readonly Column[] = [
  { key: 'cpu', label: 'CPU, µs (median)', unit: 'us' },
  { key: 'low', label: '10th percentile', unit: 'us' },
  { key: 'high', label: '90th', unit: 'us' },
  { key: 'wall', label: 'wall, µs (10th)', unit: 'us' },
  { key: 'limit', label: 'of the limit', unit: 'ratio', agree: 0.05 },
  { key: 'recipe', label: 'of the recipe', unit: 'ratio', agree: 0.05 },
  { key: 'peer', label: 'of the fastest peer', unit: 'ratio', agree: 0.05 },
]

const groups: readonly Group[] = [
  'verify',
  'verify + parse',
  'everything',
  'wrong signature',
  'missing signature',
]

const isPeer = (name: string) => !/^(limit|hand-written|idv-webhooks)/.test(name)

async function measureSize(size: Size, isQuick: boolean): Promise<Section[]> {
  const sample = sampleOf(size)
  const found = await compare(await contenders(sample), isQuick ? quick : thorough)
  return groups.map((group) => {
    const rows = found
      .filter((one) => one.group === group)
      .map(({ name, cpu, low, high, wall, faster }) => {
        const of = (wanted: (name: string) => boolean) =>
          Object.entries(faster).filter(([other]) => wanted(other) && other !== name)
        const recipe = of((other) => other.startsWith('hand-written'))[0]?.[1]
        // The fastest peer is the peer over which this contender has the smallest lead.
        const peer = of(isPeer).sort(([, one], [, two]) => one - two)[0]?.[1]
        const values: Record<string, number> = { cpu, low, high, wall }
        // Looking at a missing header takes the limit 5 ns: no ratio says anything there.
        const isMissing = group === 'missing signature'
        if (faster.limit !== undefined && !isMissing) values.limit = faster.limit
        if (recipe !== undefined) values.recipe = recipe
        if (peer !== undefined && name.startsWith('idv-webhooks')) values.peer = peer
        return { name, ours: name.startsWith('idv-webhooks'), values }
      })
    return {
      id: `${group.replaceAll(/\W+/g, '-')}-${size}`,
      title: `In process, ${group}, ${size} (${sample.body.length.toLocaleString('en-US')} bytes)`,
      columns,
      rows,
      chart: group === 'missing signature' ? 'cpu' : 'limit',
      targets: targetsOf(group, size),
    }
  })
}

function targetsOf(group: Group, size: Size): Target[] {
  const row = 'idv-webhooks'
  const small = size === '0.5K' || size === '2K'
  if (group === 'verify' && size === '2K') return [{ row, column: 'limit', atLeast: 0.85 }]
  if (group === 'wrong signature' && size === '2K') return [{ row, column: 'limit', atLeast: 0.85 }]
  if (group !== 'everything') return []
  return [
    { row, column: 'recipe', atLeast: small ? 0.93 : 0.97 },
    { row, column: 'peer', atLeast: small ? 1.08 : 1 },
  ]
}

export const area: Area = {
  name: 'process',
  published: [
    {
      name: 'in the process',
      sections: /^everything-|^(?:verify|wrong-signature)-2K$/,
      rows: /^idv-webhooks$/,
      columns: ['limit', 'recipe', 'peer'],
    },
  ],
  runs: 2,
  async measure({ quick: isQuick, only: wanted }) {
    const sections = []
    for (const size of Object.keys(sizes) as Size[]) {
      if (!wanted || wanted.includes(size)) sections.push(...(await measureSize(size, isQuick)))
    }
    return sections
  },
}
