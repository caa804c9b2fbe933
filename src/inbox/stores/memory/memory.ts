// A store in the memory of one process, for tests: it keeps every rule of the port, and nothing
// survives.
import type { InboxStore } from '../../store.ts'
import { adminOf } from './admin.ts'
import { MemoryTables } from './tables.ts'
import { workOf } from './work.ts'

/** A store that forgets everything with its process; it has no `context.tx`. */
export function memoryStore(): InboxStore<undefined> {
  const tables = new MemoryTables()
  const settings = new Map<string, Uint8Array>()
  return {
    name: 'memory',
    capabilities: {
      order: 'entity',
      survives: 'nothing',
      dedupeDays: Number.POSITIVE_INFINITY,
      tx: false,
      shared: false,
      fairness: 'tenants',
      erases: 'unlinked',
    },
    open: async () => {},
    close: async () => {},
    recall: async (name, initial) => {
      const kept = settings.get(name) ?? initial
      settings.set(name, kept)
      return kept
    },
    remember: async (name, value) => void settings.set(name, value),
    ...workOf(tables),
    ...adminOf(tables),
  }
}
