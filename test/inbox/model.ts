// Stores hold each other to the port: whatever is asked of two, in whatever order, the answers are
// the same.
import fc from 'fast-check'
import { type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { expect } from 'vitest'
import type { Claimed, Settlement } from '../../src/inbox/work-store.ts'
import { leaseOf, newEntry } from '../../tools/conformance/store-cases.ts'

/** What a run has observed of one store, for its later steps. */
interface Seen {
  readonly store: InboxStore
  readonly claimed: Claimed[]
  /** Tenants take turns in both stores; else claims take everything, in the order of the ids. */
  readonly isFair: boolean
}

const byId = (one: Claimed, other: Claimed) => (one.id < other.id ? -1 : 1)

interface Step {
  readonly spelled: string
  run(seen: Seen, now: number): Promise<unknown>
}

const lane = fc
  .record({ at: fc.integer({ min: 0, max: 3 }), tenant: fc.constantFrom('', '.a', '.b') })
  .map(({ at, tenant }) => `lane-${at}${tenant}`)
const pick = fc.nat({ max: 30 })
const entryAt = (at: number) => `entry-${at}`
let inserted = 0

const arrival = fc.record({
  key: fc.nat({ max: 12 }),
  digest: fc.nat({ max: 1 }),
  alias: fc.nat({ max: 5 }),
  related: fc.option(fc.nat({ max: 1 }).map((at) => `client-${at}`)),
})

/** Simultaneous arrivals in one lane get the answers of successive ones. */
const insert = fc
  .record({ lane, arrivals: fc.array(arrival, { minLength: 1, maxLength: 4 }) })
  .map(({ lane: name, arrivals }): Step => {
    return {
      spelled: `insert in ${name}: ${JSON.stringify(arrivals)}`,
      run: ({ store }, now) => {
        const entries = arrivals.map(({ key, digest, alias, related: client }, at) => {
          const id = at === 0 ? entryAt(inserted) : `${entryAt(inserted)}-${at}`
          const aliases = alias < 3 && { aliases: [{ key: `alias ${key}`, name: `name ${alias}` }] }
          const content = { metadata: Uint8Array.of(1), body: Uint8Array.of(inserted, at) }
          const related = client !== null && { related: client }
          const metadata = { id, lane: name, key: `key-${key}`, digest: `${digest}`, storedAt: now }
          return newEntry({ ...metadata, ...aliases, ...related, ...content })
        })
        return Promise.all(entries.map((entry) => store.insert(entry)))
      },
    }
  })

const claim = fc.integer({ min: 1, max: 4 }).map((limit): Step => {
  return {
    spelled: `claim ${limit}`,
    run: async ({ store, claimed, isFair }, now) => {
      const result = await store.claim({ now, limit: isFair ? limit : 50, until: now + 30 })
      const entries = isFair ? result.entries : result.entries.toSorted(byId)
      claimed.push(...entries)
      return { ...result, entries }
    },
  }
})

const endings: readonly ((now: number) => object)[] = [
  (now) => ({ to: 'done', highWaterMark: { at: now - 3, final: now % 2 === 0 } }),
  () => ({ to: 'done' }),
  (now) => ({ to: 'retry', due: now + 7, reason: 'HANDLER_FAILED', failures: [] }),
  () => ({ to: 'dead', hold: false, reason: 'NON_RETRYABLE', failures: [] }),
  () => ({ to: 'dead', hold: true, reason: 'HANDLER_FAILED', failures: [] }),
  () => ({ to: 'skipped', reason: 'NO_HANDLER' }),
  () => ({ to: 'released' }),
  () => ({ to: 'released', failures: [{ handler: 'h', code: 'HANDLER_FAILED', error: 'Error' }] }),
]

const ending = fc.tuple(pick, fc.nat({ max: endings.length - 1 }))
const settle = fc.array(ending, { minLength: 1, maxLength: 4 }).map((all): Step => {
  return {
    spelled: `settle ${all.map(([at, how]) => `claim ${at} by ending ${how}`).join(', ')}`,
    run: async ({ store, claimed }, now) => {
      const settled = all.map(async ([at, how]) => {
        const entry = claimed[at % Math.max(1, claimed.length)]
        if (!entry) return 'nothing'
        const lease = leaseOf(entry)
        const common = { lease, at: now, handled: at % 2 === 0 ? ['even'] : [] }
        return store.settle({ ...common, ...endings[how]?.(now) } as unknown as Settlement)
      })
      return Promise.all(settled)
    },
  }
})

/** The claimed entry turns out to be another event. */
const assign = fc.record({ at: pick, lane, arrival }).map(({ at, lane: name, arrival }): Step => {
  const { key, digest, alias, related: client } = arrival
  return {
    spelled: `assign claim ${at} to ${name}: ${JSON.stringify(arrival)}`,
    run: async ({ store, claimed }, now) => {
      const claim = claimed[at % Math.max(1, claimed.length)]
      if (!claim) return 'nothing'
      const aliases = alias < 3 && { aliases: [{ key: `alias ${key}`, name: `name ${alias}` }] }
      const related = client !== null && { related: client }
      const content = { metadata: Uint8Array.of(3), body: Uint8Array.of(4) }
      const read = { lane: name, key: `key-${key}`, digest: `${digest}`, occurredAt: now - 1 }
      const entry = newEntry({ id: claim.id, ...read, ...aliases, ...related, ...content })
      return store.assign({ lease: leaseOf(claim), at: now, entry })
    },
  }
})

const desk = fc.oneof(
  fc.tuple(pick, fc.boolean(), fc.boolean()).map(([at, replay, setAside]): Step => {
    const from = replay ? (['done'] as const) : (['dead', 'skipped', 'retry'] as const)
    return {
      spelled: `reopen entry ${at}${replay ? ' as a replay' : ''}${setAside ? ', set aside or not' : ''}`,
      run: ({ store }, now) => store.reopen({ ids: [entryAt(at)], from, now, replay, setAside }),
    }
  }),
  pick.map(
    (at): Step => ({
      spelled: `dismiss ${at}`,
      run: ({ store }, now) => store.dismiss(entryAt(at), now),
    }),
  ),
  fc.oneof(lane, fc.constantFrom('client-0', 'client-1')).map(
    (name): Step => ({
      spelled: `forget ${name}`,
      run: ({ store }, now) => store.forget(name, now),
    }),
  ),
  fc.oneof(lane, fc.constantFrom('client-0', 'client-1')).map(
    (name): Step => ({
      spelled: `find ${name}`,
      run: ({ store }) => store.find({ lane: name, limit: 20 }),
    }),
  ),
  fc.tuple(fc.nat({ max: 40 }), fc.boolean()).map(
    ([back, free]): Step => ({
      spelled: `align with a clock ${back} back${free ? ', free' : ''}`,
      run: ({ store }, now) => store.align({ now: now - back, latest: now - back + 5, free }),
    }),
  ),
  fc.constant<Step>({ spelled: 'list the lapsed', run: ({ store }, now) => store.lapsed(now) }),
  fc.constant<Step>({
    spelled: 'purge',
    run: ({ store }, now) =>
      store.purge({ doneBefore: now - 20, deadBefore: now - 40, keysBefore: now - 60, limit: 100 }),
  }),
)

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: insert },
    { weight: 4, arbitrary: claim },
    { weight: 4, arbitrary: settle },
    { weight: 2, arbitrary: assign },
    desk,
  ),
  { minLength: 10, maxLength: 60 },
)

/** The owners of leases differ from store to store, and so do the numbers of entries. */
const own = ['owner', 'seq']
const unowned = (answer: unknown) =>
  JSON.parse(
    JSON.stringify(answer ?? null, (key, value) => (own.includes(key) ? undefined : value)),
  )

/** Asks the memory store and another one the same, again and again; their answers must be alike. */
export async function expectAlike(
  create: () => InboxStore | Promise<InboxStore>,
  numRuns: number,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const stores = [memoryStore(), await create()] as const
      const isFair = stores.every(({ capabilities }) => capabilities.fairness === 'tenants')
      const [one, two] = stores.map((store): Seen => ({ store, claimed: [], isFair }))
      if (!one || !two) throw new Error('there are two stores')
      for (const store of stores) await store.open(() => {})
      inserted = 0
      try {
        for (const [at, step] of all.entries()) {
          const now = 1_000 + at * 2
          const mine = unowned(await step.run(one, now))
          const theirs = unowned(await step.run(two, now))
          expect(theirs, `${at}: ${step.spelled}`).toEqual(mine)
          expect(await two.store.stats(now), step.spelled).toEqual(await one.store.stats(now))
          inserted++
        }
        const found = { limit: 1_000, withBody: true }
        const [mine, theirs] = [await one.store.find(found), await two.store.find(found)]
        expect(unowned(theirs)).toEqual(unowned(mine))
      } finally {
        for (const store of stores) await store.close()
      }
    }),
    { numRuns },
  )
}
