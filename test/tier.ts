// The two runs of the tests: `npm test` for people who wait, `npm run test:full` for everything.
import { describe, test } from 'vitest'

/** Whether this is the run of everything. */
export const isFull = process.env.TEST_TIER === 'full'

/** The size of a test that repeats: small for people who wait, whole in the run of everything. */
export function sized(small: number, whole: number): number {
  return isFull ? whole : small
}

/**
 * A runner of a suite's cases that takes every tenth in `npm test` and all in the run of everything:
 * for set-ups beside the ones that run all of them each time.
 */
export function someCases() {
  let nth = 0
  return {
    describe,
    test: (name: string, run: () => Promise<void>) => {
      if (isFull || nth++ % 10 === 0) test(name, run)
    },
  }
}
