// The whole state as one JSON value. It holds secrets: whoever asks for a snapshot asks for them.

import type { EngineDump } from './ports.ts'
import type { StateRow } from './schemas/snapshot.ts'
import type { SavedWorld } from './state.ts'

export interface Snapshot {
  readonly version: 1
  readonly seed: string | number
  /** The secret of subscriptions that name none. */
  readonly secret: string
  readonly clock: StateRow['clock']
  readonly random: Readonly<StateRow['random']>
  readonly faults: Readonly<StateRow['faults']>
  readonly world: SavedWorld
  readonly engine: EngineDump
}
