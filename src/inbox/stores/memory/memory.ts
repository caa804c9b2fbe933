// A store in the memory of one process, for tests: SQLite without a file.
import type { InboxStore } from '../../store.ts'
import { openMemory } from '../sqlite/inline.ts'
import { adminOf, capabilities, metaOf, type SharedFile, workOf } from '../sqlite/port.ts'

/** A store that forgets everything with its process; it has no `context.tx`. */
export function memoryStore(): InboxStore<undefined> {
  let opened: SharedFile | undefined
  const handle = {
    get file() {
      opened ??= openMemory()
      return opened
    },
  }
  const { transaction: _, ...work } = workOf(handle, 'owner')
  return {
    name: 'memory',
    capabilities: { ...capabilities, survives: 'nothing', tx: false, erases: 'unlinked' },
    open: async () => {},
    close: async () => {},
    ...work,
    ...adminOf(handle),
    ...metaOf(handle, 'owner'),
  }
}
