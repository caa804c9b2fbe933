// The conformance suite of stores: pass it a store and it checks every promise of the port.
import { invalid } from '../../src/foundation/check.ts'
import type { InboxStore } from '../../src/inbox/store.ts'
import { erasingCases, erasingOrderCases } from './erasing.ts'
import { keepingCases, keepingRestartCases, keepingTxCases } from './keeping.ts'
import {
  assigningCases,
  assigningOrderCases,
  lanesCases,
  lanesFairnessCases,
  lanesOrderCases,
} from './lanes.ts'
import { sharedCases } from './processes.ts'
import type { StoreCases, StoreCheck } from './store-cases.ts'

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
  /** Reopens what the last store left when it was closed; for stores that survive. */
  reopen?(): InboxStore | Promise<InboxStore>
  /** The globals of Vitest, Jest or Mocha by default; with node:test pass `{ describe, test }`. */
  readonly runner?: TestRunner
}

/** The capability that a store needs for cases to apply to it. */
type Need = 'every' | 'order' | 'fairness' | 'restart' | 'tx' | 'shared'

const cases: Readonly<Record<Need, StoreCases>> = {
  every: { ...keepingCases, ...lanesCases, ...erasingCases, ...assigningCases },
  restart: { ...keepingRestartCases },
  tx: { ...keepingTxCases },
  order: { ...lanesOrderCases, ...erasingOrderCases, ...assigningOrderCases },
  fairness: { ...lanesFairnessCases },
  shared: { ...sharedCases },
}

/**
 * Describes a store by the promises of the port, as tests.
 *
 * @throws WebhookError `OPTION_INVALID` if there is no test runner
 * @example describeInboxStore('my store', { create: () => myStore() })
 */
export function describeInboxStore(name: string, under: StoreUnderTest): void {
  const { describe, test } = under.runner ?? globalRunner()
  describe(`the ${name} store`, () => {
    for (const [need, ofNeed] of Object.entries(cases)) {
      for (const [promise, check] of Object.entries(ofNeed)) {
        test(promise, () => run(check, need as Need, under))
      }
    }
  })
}

async function run(check: StoreCheck, need: Need, under: StoreUnderTest): Promise<void> {
  let store = await under.create()
  if (!applies(need, store, under)) return
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
    await check(store, { again, beside })
  } finally {
    for (const one of [...others, store]) await one.close()
  }
}

function applies(need: Need, { capabilities }: InboxStore, under: StoreUnderTest): boolean {
  if (need === 'order') return capabilities.order === 'entity'
  if (need === 'tx') return capabilities.tx
  if (need === 'shared') return capabilities.shared
  if (need === 'fairness') return capabilities.fairness === 'tenants'
  return need !== 'restart' || (capabilities.survives !== 'nothing' && under.reopen !== undefined)
}

function globalRunner(): TestRunner {
  const { describe, it, test = it } = globalThis as Partial<TestRunner & { it: TestRunner['test'] }>
  if (describe && test) return { describe, test }
  throw invalid('describeInboxStore found no test runner: pass `runner: { describe, test }`')
}
