// The first line of npm test: how long it takes, so that nobody stops it for a hang.
import { availableParallelism } from 'node:os'

/** Measured with two cores; most of it is waiting for processes, servers and builds. */
const minutes = 20
const cores = availableParallelism()

console.log(
  `npm test takes about ${minutes} minutes on 2 cores (this machine has ${cores}); for quick ones: npm run dev -- --project node`,
)
