// Measures the bytes that one delivery allocates. The young generation is so large that nothing is
// collected within a sample: the growth of heap and buffers is the allocation.

import { median } from '../compare.ts'
import type { Group } from '../contenders/contender.ts'
import { type Size, sizes } from '../deliveries.ts'
import type { Area, Column, Section } from '../section.ts'
import { contenders, sampleOf } from './process.ts'

const columns: readonly Column[] = [
  { key: 'heap', label: 'heap, bytes', unit: 'bytes' },
  { key: 'external', label: 'buffers, bytes', unit: 'bytes' },
  { key: 'limit', label: "times the limit's", unit: 'ratio', agree: 0.05 },
]

async function allocated(run: () => unknown, times: number) {
  for (let at = 0; at < 500; at++) await run()
  const samples: { heap: number; external: number }[] = []
  for (let sample = 0; sample < 9; sample++) {
    globalThis.gc?.()
    const before = process.memoryUsage()
    for (let at = 0; at < times; at++) {
      // A value is not awaited: that would count a promise that it did not make.
      const result = run()
      if (result instanceof Promise) await result
    }
    const after = process.memoryUsage()
    samples.push({
      heap: (after.heapUsed - before.heapUsed) / times,
      external: (after.external - before.external) / times,
    })
  }
  const of = (key: 'heap' | 'external') => Math.max(0, median(samples.map((one) => one[key])))
  return { heap: of('heap'), external: of('external') }
}

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
  flags: ['--max-semi-space-size=512', '--min-semi-space-size=512'],
  async measure({ only: wanted }) {
    const sections = []
    for (const size of Object.keys(sizes) as Size[]) {
      if (!wanted || wanted.includes(size)) sections.push(await measureSize(size))
    }
    return sections
  },
}
