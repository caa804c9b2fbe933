// The state between the data file and the sandbox: which rows a snapshot makes, and the snapshot
// that rows make. A row that no sandbox would write is refused by its name.
import { damaged } from './damaged.ts'
import type { FileRow, ReadableFile } from './data-file.ts'
import { fieldErrors } from './exchange.ts'
import type { FieldError } from './http-error.ts'
import type { Change } from './journal.ts'
import {
  type RowKind,
  rowSchemas,
  type Snapshot,
  type StartOptions,
  type StateRow,
  snapshotSchema,
} from './schemas/snapshot.ts'

/** The content of a data file. */
export interface SavedState {
  readonly snapshot: Snapshot
  readonly startOptions: StartOptions
}

/** The row of what has no record of its own; written with every transaction. */
export function stateChange(value: StateRow): Change {
  return { kind: 'state', id: 'parts', value }
}

/** Every row of a snapshot but the state's. */
export function changesOf({ state, webhooks }: Snapshot): Change[] {
  const { organizations, keys } = state
  return [
    change('organizations', 'all', { organizations, keys }),
    ...state.verifications.map((row) => change('verification', row.resource.id, row)),
    ...state.clients.map((row) => change('client', row.resource.id, row)),
    ...state.outbox.map((mail) => change('mail', mail.id, mail)),
    ...webhooks.subscriptions.map((one) => change('subscription', one.id, one)),
    ...webhooks.deliveries.map((one) => change('delivery', one.id, one)),
  ]
}

function change(kind: RowKind, id: string, value: unknown): Change {
  return { kind, id, value }
}

/**
 * Reads a data file; returns undefined when it is new.
 *
 * @throws WebhookError `DATA_FILE_FAILED` with the row that is damaged or missing
 */
export function savedIn(file: ReadableFile): SavedState | undefined {
  const rows = file.read()
  if (rows.length === 0) return undefined
  const kinds = new Map<string, unknown[]>()
  for (const row of rows) {
    const wrong = rowError(row)
    if (wrong) throw damaged(file.path, `the row ${row.kind}/${row.id}`, new Error(wrong))
    const list = kinds.get(row.kind) ?? []
    list.push(row.value)
    kinds.set(row.kind, list)
  }
  const list = (kind: RowKind) => kinds.get(kind) ?? []
  const single = (kind: RowKind, id: string) => {
    const [value] = list(kind)
    if (value === undefined) throw damaged(file.path, `the row ${kind}/${id}, which is missing`)
    return value
  }
  // Trust is granted here: each row was checked by the schema of its kind.
  const { startOptions, seq, rates, ...parts } = single('state', 'parts') as StateRow
  const access = single('organizations', 'all') as Pick<Snapshot['state'], 'organizations' | 'keys'>
  const state = {
    seq,
    rates,
    verifications: list('verification'),
    clients: list('client'),
    outbox: list('mail'),
    ...access,
  }
  const webhooks = { subscriptions: list('subscription'), deliveries: list('delivery') }
  return { snapshot: { ...parts, state, webhooks } as Snapshot, startOptions }
}

/** Describes what is wrong with a row; undefined if it is valid. */
function rowError({ kind, id, value }: FileRow): string | undefined {
  if (!isRowKind(kind)) return 'its kind is unknown'
  const read = rowSchemas[kind].safeParse(value)
  if (!read.success) {
    const [first] = fieldErrors(read.error.issues)
    return `${first?.field || 'it'}: ${first?.message}`
  }
  const row = value as { readonly id?: unknown; readonly resource?: { readonly id: unknown } }
  const own = row.resource?.id ?? row.id
  return own === undefined || own === id ? undefined : `it holds the id ${String(own)}`
}

function isRowKind(kind: string): kind is RowKind {
  return Object.hasOwn(rowSchemas, kind)
}

/** The errors of an invalid snapshot, by field; at most a hundred. */
export function snapshotErrors(value: unknown): readonly FieldError[] {
  const read = snapshotSchema.safeParse(value)
  return read.success ? [] : fieldErrors(read.error.issues).slice(0, 100)
}
