// A shared store in memory: several handles on one memoryStore, each an owner of its own. It stands
// for a database server, so that the suite for shared stores can be tested without one.
import { type InboxStore, memoryStore } from 'idv-webhooks/inbox'

/** The fault of this store, so that the suite can be seen to notice it. */
export type Flaw = 'owner' | 'lapses' | 'stays' | 'wake' | 'clock' | 'order' | 'key'

/** One handle's view of the shared store. */
interface Shared {
  readonly data: InboxStore
  /** The live owners, and how each is woken. */
  readonly owners: Map<number, () => void>
  /** The holder of each entry. */
  readonly holders: Map<string, number>
}

/** Gives handles on one set of entries. */
export function sharedMemory(flaw?: Flaw): () => InboxStore {
  const shared: Shared = { data: memoryStore(), owners: new Map(), holders: new Map() }
  let last = 0
  return () => handleOf(shared, ++last, flaw)
}

function handleOf({ data, owners, holders }: Shared, owner: number, flaw?: Flaw): InboxStore {
  const wakeAll = () => {
    for (const [one, wake] of owners) if (flaw !== 'wake' || one === owner) wake()
  }
  const holds = (lease: { readonly id: string; readonly owner?: number }) =>
    flaw === 'owner' || holders.get(lease.id) === lease.owner
  const isGone = (id: string) => {
    const isLive = owners.has(holders.get(id) ?? 0)
    return flaw === 'lapses' || (!isLive && flaw !== 'stays')
  }
  const skew = flaw === 'clock' ? owner * 3_600_000 : 0
  return {
    name: 'shared memory',
    capabilities: { ...data.capabilities, shared: true },
    now: () => new Date(Date.now() + skew),
    open: async (wake) => void owners.set(owner, wake),
    close: async () => void owners.delete(owner),
    recall: (name, initial) => data.recall(name, initial),
    remember: (name, value) => data.remember(name, value),
    insert: async (entry, signal) => {
      const { key: _, ...keyless } = entry
      const given = flaw === 'key' && owner > 1 ? keyless : entry
      const inserted = await data.insert(given, signal)
      wakeAll()
      return inserted
    },
    insertAll: async (entries, signal) => {
      const inserted = await data.insertAll(entries, signal)
      wakeAll()
      return inserted
    },
    claim: async (request) => {
      const { entries, ...rest } = await data.claim(request)
      for (const { id } of entries) holders.set(id, owner)
      const given = flaw === 'order' ? entries.slice(0, owner % 2) : entries
      return { entries: given.map((entry) => ({ ...entry, owner })), ...rest }
    },
    align: (alignment) => data.align(alignment),
    free: (now) => data.align({ now, latest: Number.MAX_SAFE_INTEGER, free: true }),
    renew: (leases, until) => data.renew(leases.filter(holds), until),
    lapsed: async (now) => {
      const late = new Set((await data.lapsed(now)).map(({ id }) => id))
      const all = await data.lapsed(Number.MAX_SAFE_INTEGER)
      const lapsed = all.filter(({ id }) => late.has(id) || isGone(id))
      return lapsed.map((one) => ({ ...one, owner: holders.get(one.id) ?? 0 }))
    },
    checkpoint: async (lease, handler) => holds(lease) && data.checkpoint(lease, handler),
    settle: async (settlement) => holds(settlement.lease) && data.settle(settlement),
    assign: async (assignment) =>
      holds(assignment.lease) ? data.assign(assignment) : ('lost' as const),
    find: (query) => data.find(query),
    findDone: (query) => data.findDone(query),
    reopen: async (reopening) => {
      const opened = await data.reopen(reopening)
      wakeAll()
      return opened
    },
    dismiss: (id, now) => data.dismiss(id, now),
    forget: (lane, now, ofNone) => data.forget(lane, now, ofNone),
    purge: (purge) => data.purge(purge),
    stats: (now, latency) => data.stats(now, latency),
  }
}
