// The states of an entry, for options that name one.
import type { EntryState } from '../../../src/inbox/index.ts'

const all: Readonly<Record<EntryState, true>> = {
  stored: true,
  leased: true,
  retry: true,
  done: true,
  dead: true,
  skipped: true,
}

/** Every state, in the order in which an entry passes through them. */
export const entryStates = Object.keys(all) as readonly EntryState[]
