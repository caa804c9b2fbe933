// A short version of `npm run attack`: the worst of it, on the server of every family of adapters.
import { expect, test } from 'vitest'
import {
  bombed,
  broken,
  crumbled,
  endlessly,
  type Finding,
  flooded,
  idled,
  lied,
} from './attacks.ts'
import { bombs } from './bombs.ts'

const soon = { bodyTimeout: 1_000 }
const worst = bombs.filter(({ name }) =>
  /^(a string of slashes|the same, 3 times|small: a deep array with a CJK)/.test(name),
)

/** The tests also run on machines that take so much longer; `npm run attack` holds the bounds themselves. */
const slowness = 3

/** A bound that breaks on a busy machine is measured again; a hole stays open. */
async function holds(attack: () => Promise<Finding>): Promise<void> {
  let finding = await attack()
  for (let run = 0; run < 2 && broken(finding, slowness).length > 0; run++) finding = await attack()
  expect(broken(finding, slowness), JSON.stringify(finding.figures)).toEqual([])
}

test.each(worst)('one forged body ($name) neither stalls nor fills a server', async (bomb) => {
  await holds(() => bombed('node', bomb))
})

test.each(['node', 'express 4', 'express 5', 'fastify', 'hono'] as const)(
  '80 idle strangers do not lock the sender out of %s, and are gone with the deadline',
  async (framework) => {
    await holds(() => idled(framework, soon))
  },
)

test.each(['express 5', 'fastify', 'hono'] as const)(
  '80 strangers whose bodies drip or lie are gone from %s with the deadline',
  async (framework) => {
    await holds(() => lied(framework, soon))
  },
)

test.each(['node', 'fastify', 'hono'] as const)(
  'bodies in chunks of one byte do not fill %s',
  async (framework) => {
    await holds(() => crumbled(framework, { bodyTimeout: 2_000 }))
  },
)

test.each(['fastify', 'hono'] as const)('an endless body is cut off by %s', async (framework) => {
  await holds(() => endlessly(framework, false))
})

test('genuine deliveries pass through a flood of forgeries', async () => {
  await holds(() => flooded('node', { requests: 2_000, connections: 32, most: 5_000 }))
})
