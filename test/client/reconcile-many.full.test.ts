import { test } from 'vitest'
import { losingATenth } from './reconciling.ts'

test('after a tenth of 2,000 deliveries was lost, one run has every state handled once', async () => {
  await losingATenth(1_000)
}, 60_000)
