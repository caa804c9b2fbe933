// The bytes that one call allocates: the growth of heap and buffers, if nothing is collected within
// a sample.
import { median } from './compare.ts'

/** Flags of Node for a young generation so large that nothing is collected, beside --expose-gc. */
export const noCollection = ['--max-semi-space-size=512', '--min-semi-space-size=512']

export async function allocated(run: () => unknown, times: number) {
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
