// The state between the data file and the sandbox: which rows a snapshot makes, and the snapshot
// that rows make.
import type { DataFile } from './data-file.ts'
import type { Change } from './journal.ts'
import { type Snapshot, snapshotFault } from './snapshot.ts'

/** The small parts of the state, each one row. */
export interface StateParts {
  readonly version: 1
  readonly seed: string | number
  readonly secret: string
  readonly seq: number
  readonly clock: unknown
  readonly random: unknown
  readonly faults: unknown
}

/** The rows of what is not a record of its own; written with every transaction. */
export function stateChange(parts: StateParts): Change {
  return { kind: 'state', id: 'parts', value: parts }
}

/** The row of the organisations and their keys. */
export function organisationsChange(value: unknown): Change {
  return { kind: 'organisations', id: 'all', value }
}

/** Every row of a snapshot but the parts. */
export function changesOf({ world, engine }: Snapshot): Change[] {
  const { organisations, keys } = world
  return [
    organisationsChange({ organisations, keys }),
    ...world.verifications.map((row) => change('verification', row.resource.id, row)),
    ...world.clients.map((row) => change('client', row.resource.id, row)),
    ...world.outbox.map((mail) => change('mail', mail.id, mail)),
    ...engine.subscriptions.map((one) => change('subscription', one.id, one)),
    ...engine.deliveries.map((one) => change('delivery', one.id, one)),
  ]
}

function change(kind: string, id: string, value: unknown): Change {
  return { kind, id, value }
}

/** The seed that a file began with, so that what follows from it stays the same. */
export function seedIn(file: DataFile): string | number | undefined {
  return snapshotIn(file)?.seed
}

/** The snapshot in a file; undefined when the file is new or not whole. */
export function snapshotIn(file: DataFile): Snapshot | undefined {
  const kinds = file.read()
  const rows = (kind: string) => kinds.get(kind) ?? []
  const [parts] = rows('state') as readonly (StateParts | undefined)[]
  const [access] = rows('organisations') as readonly object[]
  if (!parts || !access) return undefined
  const { seq, ...rest } = parts
  const snapshot: unknown = {
    ...rest,
    world: {
      seq,
      verifications: rows('verification'),
      clients: rows('client'),
      outbox: rows('mail'),
      rates: {},
      ...access,
    },
    engine: { subscriptions: rows('subscription'), deliveries: rows('delivery') },
  }
  return snapshotFault(snapshot) === undefined ? (snapshot as Snapshot) : undefined
}
