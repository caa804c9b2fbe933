// Whether the time of a refusal tells how much of a signature was right. The same statistics must
// find a comparison that stops at the first wrong letter, or they would find nothing.
import { createHash, createHmac } from 'node:crypto'
import { verify } from 'idv-webhooks'
import { expect, test } from 'vitest'

const secret = 'the-secret-of-the-timing-test'
const body = new TextEncoder().encode('{"event":"verification.approved","data":{"id":"ver_1"}}')
const digest = createHmac('sha256', secret).update(body).digest('hex')

/**
 * A signature of which the first letters are right. One for each side: of many, the more alike
 * ones would be faster, for the processor learns them.
 */
function guess(right: number): string {
  const next = digest[right] === '0' ? '1' : '0'
  const rest = createHash('sha256')
    .update('another')
    .digest('hex')
    .slice(right + 1)
  // One flat string: how the engine joined it must not tell the two sides apart.
  return Buffer.from(digest.slice(0, right) + next + rest).toString('latin1')
}

const near = guess(63)
const far = guess(0)

type Check = (signature: string) => unknown

async function durations(check: Check, samples: number) {
  const times: [near: number[], far: number[]] = [[], []]
  for (let at = 0; at < samples; at++) {
    // In random order, so that whatever else changes falls on both alike.
    const side = Math.random() < 0.5 ? 0 : 1
    const signature = side === 0 ? near : far
    const start = process.hrtime.bigint()
    const result = check(signature)
    if (result instanceof Promise) await result
    times[side].push(Number(process.hrtime.bigint() - start))
  }
  return times
}

/**
 * Nanoseconds that a nearly right signature takes longer, by the fastest third of each side: there
 * nothing interrupted, so it repeats on a busy machine too.
 */
async function difference(check: Check, samples = 30_000): Promise<number> {
  await durations(check, 5_000)
  const [one, two] = await durations(check, samples)
  return fastest(one) - fastest(two)
}

function fastest(times: number[]): number {
  const sorted = times.sort((one, two) => one - two)
  const part = sorted.slice(Math.floor(sorted.length * 0.02), Math.floor(sorted.length * 0.33))
  return part.reduce((sum, time) => sum + time, 0) / part.length
}

const receives: Check = (signature) =>
  verify({ body, headers: { 'x-service-signature': signature } }, { secret })

/** A control that must be found: it compares letter by letter and stops at the first difference. */
const leaks: Check = (signature) => {
  const expected = createHmac('sha256', secret).update(body).digest('hex')
  for (let at = 0; at < expected.length; at++) {
    if (expected.charCodeAt(at) !== signature.charCodeAt(at)) return false
  }
  return true
}

/** The median of some runs, each of which may have been disturbed. */
async function usual(check: Check, runs: number): Promise<number> {
  const found: number[] = []
  for (let run = 0; run < runs; run++) found.push(await difference(check))
  return found.sort((one, two) => one - two)[(runs - 1) / 2] ?? Number.NaN
}

// A machine that is busy for all of one measurement is not busy for five; a leak is there in each.
test('only a comparison that stops at the first wrong letter reveals how much was right', {
  timeout: 120_000,
  retry: 4,
}, async () => {
  const leak = await usual(leaks, 3)
  const ours = await usual(receives, 5)
  expect(leak).toBeGreaterThan(10)
  expect(Math.abs(ours)).toBeLessThan(leak / 3)
})
