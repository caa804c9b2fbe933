// Cases for a store that several processes use at the same time: the store under test, and handles
// beside it as other processes have them.
import { sleep } from '../../src/foundation/abortable.ts'
import type { InboxStore } from '../../src/inbox/store.ts'
import type { Claimed } from '../../src/inbox/work-store.ts'
import {
  claim,
  claimNew,
  claimOne,
  crashed,
  failed,
  idsOf,
  lapsedOf,
  leaseOf,
  newEntry,
  reopen,
  type StoreCases,
  same,
  settle,
  settleNext,
  start,
} from './store-cases.ts'

export const sharedCases: StoreCases = {
  'stores one of many entries with one key through two handles': async (store, { beside }) => {
    const stores = [store, await beside()]
    const { key, digest } = newEntry()
    const copies = Array.from({ length: 64 }, () => newEntry({ key: key ?? '', digest }))
    const kinds = await Promise.all(
      copies.flatMap((copy, at) => stores[at % 2]?.insert(copy) ?? []),
    )
    same(kinds.filter(({ kind }) => kind === 'stored').length, 1)
    same(new Set(idsOf(kinds)).size, 1)
    same((await claim(store)).length, 1)
  },
  'detects one occurrence that arrives twice at once': async (store, { beside }) => {
    const other = await beside()
    for (let round = 0; round < 10; round++) {
      const named = (name: string) => newEntry({ aliases: [{ key: `alias ${round}`, name }] })
      const kinds = await Promise.all([store.insert(named('old')), other.insert(named('new'))])
      same(kinds.map(({ kind }) => kind).sort(), ['duplicate', 'stored'])
      same(new Set(idsOf(kinds)).size, 1)
    }
    same((await claim(store, 20)).length, 10)
  },
  'keeps the order of each handle in one lane and skips no entry': async (store, { beside }) => {
    const stores = [store, await beside()] as const
    const sent = stores.map(() => Array.from({ length: 200 }, () => newEntry({ lane: 'hot' })))
    let isSent = false
    const sending = Promise.all(
      stores.flatMap((one, at) => sent[at]?.map((entry) => one.insert(entry)) ?? []),
    ).finally(() => {
      isSent = true
    })
    const order: string[] = []
    // Entries are claimed while others arrive: an entry must not commit before a later one was
    // claimed.
    for (let idle = 0; order.length < 400 && !(isSent && idle > 3); ) {
      const wasSent = isSent
      const [claimed] = await claim(stores[order.length % 2] ?? store, 1)
      idle = claimed || !wasSent ? 0 : idle + 1
      if (!claimed) {
        await sleep(5)
        continue
      }
      order.push(claimed.id)
      await settle(stores[(order.length + 1) % 2] ?? store, claimed, { to: 'done' })
    }
    await sending
    same(order.length, 400, 'entries handed out')
    for (const entries of sent) {
      const ids = idsOf(entries)
      const handedOut = order.filter((id) => ids.includes(id))
      same(handedOut, ids)
    }
  },
  'gives no entry and no lane to two handles': async (store, { beside }) => {
    const stores = [store, await beside()]
    const lanes = Array.from({ length: 40 }, (_, at) => `lane ${at}`)
    const entries = lanes.flatMap((lane) => [newEntry({ lane }), newEntry({ lane })])
    for (const entry of entries) await store.insert(entry)
    const given = (await Promise.all(stores.map((one) => claim(one, 100)))).flat()
    const first = entries.filter((_, at) => at % 2 === 0).map(({ id }) => id)
    same(idsOf(given).sort(), first.sort())
  },
  'holds a lease for as long as its owner lives': async (store, { beside }) => {
    const other = await beside()
    const claimed = await claimNew(other)
    same(await store.lapsed(start), [], 'while its owner lives')
    await other.close()
    same(await store.lapsed(start), [lapsedOf(claimed)], 'when it has closed')
    same(await settle(store, claimed, crashed), true)
    same((await claimOne(store)).attempt, 2)
  },
  'rejects the fence of another owner': async (store, { beside }) => {
    const other = await beside()
    const mine = await claimNew(store)
    const { owner } = await claimNew(other)
    const forged: Claimed = { ...mine, ...(owner !== undefined && { owner }) }
    same(forged.owner !== undefined && forged.owner !== mine.owner, true, 'owners differ')
    await other.renew([leaseOf(forged)], start + 600_000)
    same(await other.checkpoint(leaseOf(forged), 'h'), false)
    same(await settle(other, forged, { to: 'done' }), false)
    const lapsed = await store.lapsed(start + 60_000)
    same(lapsed.find(({ id }) => id === mine.id)?.fence, mine.fence, 'it was not renewed')
    same(await settle(store, mine, { to: 'done' }), true)
  },
  'forgets an entry that another handle is working on': async (store, { beside }) => {
    const other = await beside()
    const lane = 'forgotten beside'
    const held = await claimNew(store, { lane })
    same(await other.forget(lane, start), 1)
    await other.insert(newEntry({ lane }))
    same(await claim(other), [], 'while it is at work')
    same(await store.checkpoint(leaseOf(held), 'h'), false)
    same(await settle(store, held, { to: 'done' }), false)
    same((await claim(other)).length, 1)
  },
  'wakes every handle when another one stores or reopens an entry': async (store, { beside }) => {
    const woken = await waking(beside)
    const entry = newEntry()
    const kept = woken('kept')
    await store.insert(entry)
    await kept
    await settleNext(store, { to: 'dead', hold: false, ...failed })
    await sleep(50)
    const again = woken('opened again')
    await reopen(store, 'dead', [entry])
    await again
  },
  'tells every handle that waits what another one has settled': async (store, { beside }) => {
    if (!store.onDone) return
    const woken = await waking(async (heard) => {
      const other = await beside()
      other.onDone?.(heard)
      return other
    })
    await store.insert(newEntry())
    await sleep(50)
    const settled = woken('settled')
    await settleNext(store, { to: 'done' })
    await settled
  },
  'returns one value to all concurrent calls of recall': async (store, { beside }) => {
    const stores: readonly InboxStore[] = [store, await beside(), await beside()]
    const values = await Promise.all(
      stores.map((one, at) => one.recall('raced', Uint8Array.of(at + 1))),
    )
    same(new Set(values.map((value) => value[0])).size, 1)
  },
  'stores batches with crossing lanes without a deadlock': async (store, { beside }) => {
    const other = await beside()
    const lanes = Array.from({ length: 50 }, (_, at) => `crossing ${at}`)
    for (let round = 0; round < 5; round++) {
      const kept = await Promise.all([
        ...lanes.map((lane) => store.insert(newEntry({ lane }))),
        ...lanes.toReversed().map((lane) => other.insert(newEntry({ lane }))),
      ])
      same(kept.filter(({ kind }) => kind === 'stored').length, 100)
    }
  },
  'frees the lanes that another handle has left held': async (store, { beside }) => {
    if (!store.free) return
    const other = await beside()
    await store.align({ now: start, latest: start + 1_000, free: true })
    const lanes = Array.from({ length: 3 }, (_, at) => `held later ${at}`)
    for (const lane of lanes) {
      await settle(other, await claimNew(other, { lane }), { to: 'dead', hold: true, ...failed })
      await other.insert(newEntry({ lane }))
    }
    same(await claim(store), [], 'while they are held')
    await store.free(start)
    same((await claim(store)).length, 3)
    await store.free(start)
    same(await claim(store), [], 'what is at work keeps its lane')
  },
  'uses one clock for all handles': async (store, { beside }) => {
    const other = await beside()
    const [one, two] = [store.now?.().getTime(), other.now?.().getTime()]
    same([typeof one, typeof two], ['number', 'number'])
    same(Math.abs((one ?? 0) - (two ?? 0)) < 1_000, true, 'they agree within a second')
  },
}

/** A handle beside the store; the function resolves when it is woken next, within 2 seconds. */
async function waking(beside: (wake: () => void) => Promise<InboxStore>) {
  let wake = () => {}
  await beside(() => wake())
  return (when: string) =>
    new Promise<void>((resolve, reject) => {
      const late = new Error(`${when}: expected to be woken within 2 s`)
      const timer = setTimeout(() => reject(late), 2_000)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
}
