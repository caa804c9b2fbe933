// The state between the data file and the sandbox: which rows a snapshot makes, and the snapshot
// that rows make. A row that is not what a sandbox writes is refused by its name.

import { damaged } from './damaged.ts'
import type { DataFile, FileRow } from './data-file.ts'
import { fieldErrors } from './exchange.ts'
import type { Change } from './journal.ts'
import {
  type RowKind,
  rowSchemas,
  type StateRow,
  snapshotSchema,
  type Told,
} from './schemas/snapshot.ts'
import type { Snapshot } from './snapshot.ts'

/** What a data file holds. */
export interface SavedState {
  readonly snapshot: Snapshot
  readonly told: Told
}

/** The row of what is no record of its own; written with every transaction. */
export function stateChange(
  { version, seed, secret, clock, random, faults, world }: StateOf,
  told: Told,
): Change {
  const { seq, rates } = world
  const value = { version, seed, secret, clock, random, faults, seq, rates, told }
  return { kind: 'state', id: 'parts', value }
}

/** The parts of a snapshot that the state's row holds. */
export type StateOf = Omit<Snapshot, 'world' | 'engine'> & {
  readonly world: Pick<Snapshot['world'], 'seq' | 'rates'>
}

/** The row of the organizations and their keys. */
export function organizationsChange(value: unknown): Change {
  return { kind: 'organizations', id: 'all', value }
}

/** Every row of a snapshot but the parts. */
export function changesOf({ world, engine }: Snapshot): Change[] {
  const { organizations, keys } = world
  return [
    organizationsChange({ organizations, keys }),
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

/**
 * What a file holds; undefined when it is new.
 *
 * @throws WebhookError `DATA_FILE_FAILED` with the row that is damaged or missing.
 */
export function savedIn(file: DataFile): SavedState | undefined {
  const rows = file.read()
  if (rows.length === 0) return undefined
  const kinds = new Map<string, unknown[]>()
  for (const row of rows) {
    const wrong = faultOf(row)
    if (wrong) throw damaged(file.path, `the row ${row.kind}/${row.id}`, new Error(wrong))
    const list = kinds.get(row.kind) ?? []
    list.push(row.value)
    kinds.set(row.kind, list)
  }
  const single = (kind: RowKind, id: string) =>
    kinds.get(kind)?.[0] ?? thrown(damaged(file.path, `the row ${kind}/${id}, which is missing`))
  // Each row was checked by the schema of its kind.
  const { told, seq, rates, ...parts } = single('state', 'parts') as StateRow
  const access = single('organizations', 'all') as Pick<Snapshot['world'], 'organizations' | 'keys'>
  const list = (kind: RowKind) => kinds.get(kind) ?? []
  const world = {
    seq,
    rates,
    verifications: list('verification'),
    clients: list('client'),
    outbox: list('mail'),
    ...access,
  }
  const engine = { subscriptions: list('subscription'), deliveries: list('delivery') }
  return { snapshot: { ...parts, world, engine } as Snapshot, told }
}

/** What is wrong with a row; undefined when nothing is. */
function faultOf({ kind, id, value }: FileRow): string | undefined {
  if (!Object.hasOwn(rowSchemas, kind)) return 'its kind is unknown'
  const read = rowSchemas[kind as RowKind].safeParse(value)
  if (!read.success) return spoken(read.error.issues)
  const own = value as { readonly id?: unknown; readonly resource?: { readonly id: unknown } }
  const named = own.resource?.id ?? own.id
  return named === undefined || named === id ? undefined : `it holds the id ${String(named)}`
}

function spoken(issues: Parameters<typeof fieldErrors>[0]): string {
  const [first] = fieldErrors(issues)
  return first ? `${first.field || 'it'}: ${first.message}` : 'it is something else'
}

/** What is wrong with a value that should be a snapshot, field by field; a hundred at most. */
export function snapshotFaults(value: unknown) {
  const read = snapshotSchema.safeParse(value)
  return read.success ? [] : fieldErrors(read.error.issues).slice(0, 100)
}

function thrown(error: Error): never {
  throw error
}
