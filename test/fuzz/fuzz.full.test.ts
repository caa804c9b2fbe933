// A short run of every target from its kept corpus, and that the fuzzer finds what is planted.
import { expect, test } from 'vitest'
import { insertCounters } from './coverage.ts'
import { fuzz } from './fuzzer.ts'
import { fuzzTarget, keptCorpus, openSession } from './session.ts'

const session = await openSession()

test.each(Object.keys(session.targets))(
  '%s withstands a short run from its corpus',
  async (name) => {
    const kept = keptCorpus(name)
    const { finding, runs, covered } = await fuzzTarget(session, name, {
      runs: 20_000,
      most: 4_000,
      seed: 7,
    })
    expect(
      finding && { error: finding.error, input: Buffer.from(finding.input).toString('latin1') },
    ).toBe(undefined)
    expect(runs).toBeGreaterThan(kept.length)
    expect(covered).toBeGreaterThan(30)
  },
)

test('a fault behind five nested comparisons is found, which needs the coverage', async () => {
  const planted = `export const planted = (data) => {
    if (data[0] === 102) { if (data[1] === 117) { if (data[2] === 122) { if (data[3] === 122) {
      if (data[4] === 33) throw new Error('found')
    } } } }
  }`
  const { code, counters } = insertCounters(planted)
  const run = async (counted: boolean) => {
    const counts = new Uint8Array(counted ? Math.ceil(counters / 4) * 4 : 4)
    const module = `data:text/javascript,${encodeURIComponent(code)}//${counted}`
    Object.assign(globalThis, { __counts: counts })
    const { planted: target } = await import(/* @vite-ignore */ module)
    const options = { counts, seeds: [], dictionary: [], runs: 150_000, most: 15_000, seed: 3 }
    return (await fuzz(target, options)).finding
  }
  expect((await run(true))?.error).toMatchObject({ message: 'found' })
  expect(await run(false)).toBe(undefined)
  Object.assign(globalThis, { __counts: session.counts })
})
