// Prints how long npm test takes, so that a developer does not mistake it for a hang.
import { availableParallelism } from 'node:os'

/** Measured on two cores. */
const minutes = { test: 4, full: 9 }
const cores = availableParallelism()

console.log(
  `npm test takes about ${minutes.test} minutes on 2 cores (this machine has ${cores}), npm run test:full about ${minutes.full}; for quick ones: npm run dev -- --project node`,
)
