// Measures the cost of each promise of the package: the hand-written route with one promise after
// another, beside this package. The last rows do the same work.
import { compare, quick, thorough } from '../compare.ts'
import { receiverOf } from '../contenders/idv-webhooks.ts'
import { headersOf, type Size } from '../deliveries.ts'
import { promised, steps } from '../promised.ts'
import type { Area, Column, Section } from '../section.ts'
import { sampleOf } from './process.ts'

const columns: readonly Column[] = [
  { key: 'cpu', label: 'CPU, µs (median)', unit: 'us' },
  { key: 'first', label: 'of the first row', unit: 'ratio', agree: 0.05 },
]

const group = 'floor'

async function measureSize(size: Size, isQuick: boolean): Promise<Section> {
  const sample = sampleOf(size)
  const { body, signature } = sample
  const delivery = { body, headers: headersOf(body, signature) }
  const ways = steps.map((name, step) => {
    const take = promised(sample, step)
    return { group, name, run: () => take(delivery) }
  })
  const receiver = receiverOf(sample)
  const run = async () => (await receiver.receive(delivery)).kind === 'handled'
  const all = [...ways, { group, name: 'idv-webhooks', run }]
  const found = await compare(all, isQuick ? quick : thorough)
  return {
    id: `floor-${size}`,
    title: `The price of each promise, ${size}`,
    columns,
    chart: 'first',
    rows: found.map(({ name, cpu, faster }) => ({
      name,
      ours: name === 'idv-webhooks',
      values: { cpu, first: faster[steps[0]] ?? 0 },
    })),
  }
}

export const area: Area = {
  name: 'floor',
  published: [{ name: 'floor', sections: /^floor-/, rows: /./, columns: ['first'] }],
  runs: 2,
  async measure({ quick: isQuick, only = ['0.5K', '2K', '16K', '256K'] }) {
    const sections = []
    for (const size of only as Size[]) sections.push(await measureSize(size, isQuick))
    return sections
  },
}
