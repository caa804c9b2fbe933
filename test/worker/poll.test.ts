import { expect, onTestFinished, test } from 'vitest'
import { Poll } from '../../src/worker/poll.ts'

function setUp({ rooms }: { readonly rooms: () => boolean }) {
  const claims: number[] = []
  const poll = new Poll({
    now: () => new Date(),
    hasRoom: rooms,
    claim: async () => {
      claims.push(performance.now())
      return { isFull: false }
    },
    failed: () => {},
  })
  onTestFinished(() => poll.stop())
  return { poll, claims }
}

test('a poll that was woken while there was no room looks again by itself', async () => {
  let hasRoom = false
  const { poll, claims } = setUp({ rooms: () => hasRoom })
  poll.wake()
  // The room comes back without a word, as when a claim beside it found nothing.
  await new Promise((resolve) => setTimeout(resolve, 20))
  hasRoom = true
  await expect.poll(() => claims.length, { timeout: 3_000 }).toBeGreaterThan(0)
})

test('a poll that is stopped claims nothing more, whatever wakes it', async () => {
  const { poll, claims } = setUp({ rooms: () => true })
  poll.stop()
  poll.wake()
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(claims).toEqual([])
})
