// The conformance suite of stores: pass it a store and it checks every promise of the port.
import { invalid } from '../../src/foundation/check.ts'
import type { InboxStore } from '../../src/inbox/store.ts'
import { aligningCases } from './store-align-cases.ts'
import { assigningCases } from './store-assign-cases.ts'
import { keepingCases, type StoreCase } from './store-cases.ts'
import { adminCases, settlingCases } from './store-end-cases.ts'
import { erasingCases } from './store-erasing-cases.ts'
import { laneCases } from './store-lane-cases.ts'
import { reopeningCases } from './store-reopen-cases.ts'
import { sharedCases } from './store-shared-cases.ts'

/** The two functions of a test runner that the suite needs. */
export interface TestRunner {
  describe(name: string, body: () => void): unknown
  test(name: string, body: () => Promise<void>): unknown
}

/** The stores that the suite tests. */
export interface StoreUnderTest {
  /** A new, empty store. */
  create(): InboxStore | Promise<InboxStore>
  /** Another handle on the data of the last store, which stays open; for shared stores. */
  beside?(): InboxStore | Promise<InboxStore>
  /** A store over what the last one left, after that was closed; for stores that survive. */
  reopen?(): InboxStore | Promise<InboxStore>
  /** The globals of Vitest, Jest or Mocha by default; with node:test pass `{ describe, test }`. */
  readonly runner?: TestRunner
}

/**
 * Describes a store by the promises of the port, as tests.
 *
 * @throws WebhookError `OPTION_INVALID` if there is no test runner
 * @example describeInboxStore('my store', { create: () => myStore() })
 */
export function describeInboxStore(name: string, under: StoreUnderTest): void {
  const { describe, test } = under.runner ?? globalRunner()
  const all = [
    keepingCases,
    laneCases,
    settlingCases,
    adminCases,
    reopeningCases,
    aligningCases,
    assigningCases,
    erasingCases,
    sharedCases,
  ].flat()
  describe(`the ${name} store`, () => {
    for (const one of all) test(one.name, () => run(one, under))
  })
}

async function run(one: StoreCase, under: StoreUnderTest): Promise<void> {
  let store = await under.create()
  if (!applies(one, store, under)) return
  await store.open(() => {})
  const again = async () => {
    await store.close()
    store = (await under.reopen?.()) ?? store
    await store.open(() => {})
    return store
  }
  const others: InboxStore[] = []
  const beside = async (wake = () => {}) => {
    const other = await under.beside?.()
    if (!other) throw new Error('a shared store needs `beside` in its StoreUnderTest')
    others.push(other)
    await other.open(wake)
    return other
  }
  try {
    await one.run(store, { again, beside })
  } finally {
    for (const one of [...others, store]) await one.close()
  }
}

function applies({ needs }: StoreCase, { capabilities }: InboxStore, under: StoreUnderTest) {
  if (needs === 'order') return capabilities.order === 'entity'
  if (needs === 'tx') return capabilities.tx
  if (needs === 'shared') return capabilities.shared
  if (needs === 'fairness') return capabilities.fairness === 'tenants'
  return needs !== 'restart' || (capabilities.survives !== 'nothing' && under.reopen !== undefined)
}

function globalRunner(): TestRunner {
  const { describe, test, it } = globalThis as Partial<TestRunner> & { it?: TestRunner['test'] }
  const found = test ?? it
  if (describe && found) return { describe, test: found }
  throw invalid('describeInboxStore found no test runner: pass `runner: { describe, test }`')
}
