// Measures the bytes that one delivery allocates.

import { allocated, noCollection } from '../allocated.ts'
import type { Group } from '../contenders/contender.ts'
import { type Size, sizes } from '../deliveries.ts'
import type { Area, Column, Section } from '../section.ts'
import { contenders, sampleOf } from './process.ts'

const columns: readonly Column[] = [
  { key: 'heap', label: 'heap, bytes', unit: 'bytes' },
  { key: 'external', label: 'buffers, bytes', unit: 'bytes' },
  { key: 'limit', label: "times the limit's", unit: 'ratio', agree: 0.05 },
]

async function measureSize(size: Size): Promise<Section> {
  const sample = sampleOf(size)
  const group: Group = 'everything'
  const wanted = (await contenders(sample)).filter((one) => one.group === group)
  const times = Math.max(5, Math.min(2_000, Math.floor(2e8 / (sample.body.length * 8 + 8_000))))
  const found = []
  for (const { name, run } of wanted) found.push({ name, ...(await allocated(run, times)) })
  const limit = found.find(({ name }) => name === 'limit, in an async function')
  const least = (limit?.heap ?? 0) + (limit?.external ?? 0)
  const rows = found.map(({ name, heap, external }) => ({
    name,
    ours: name.startsWith('idv-webhooks'),
    values: { heap, external, limit: (heap + external) / least },
  }))
  return {
    id: `allocations-${size}`,
    title: `Allocated by one delivery, ${size}`,
    columns,
    rows,
    chart: 'limit',
    targets: [{ row: 'idv-webhooks', column: 'limit', atMost: 1.3 }],
  }
}

export const area: Area = {
  name: 'allocations',
  runs: 2,
  flags: noCollection,
  async measure({ only: wanted }) {
    const sections = []
    for (const size of Object.keys(sizes) as Size[]) {
      if (!wanted || wanted.includes(size)) sections.push(await measureSize(size))
    }
    return sections
  },
}
