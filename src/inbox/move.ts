// Moves an inbox from one store to another while its application is stopped: every row, unchanged,
// once. Each step may be repeated, so that an interrupted move continues.
import { randomUUID } from 'node:crypto'
import { WebhookError } from '../errors.ts'
import { sleep } from '../foundation/abortable.ts'
import {
  type CopyStore,
  type CopyTable,
  type CopyTally,
  type CopyValue,
  keyOf,
  moveSetting,
  tableNames,
} from './copy-store.ts'
import type { InboxStore } from './store.ts'

export interface MoveOptions {
  /** Called after each page with the rows that this call has copied, of all rows of the table. */
  readonly onProgress?: (progress: MoveProgress) => void
  /** Ends the move between two pages; the same call continues it. */
  readonly signal?: AbortSignal
}

export interface MoveProgress {
  readonly table: CopyTable
  readonly rows: number
  readonly of: number
}

/** The report of a move: whether an earlier call was interrupted, and what both stores hold. */
export interface MoveReport {
  readonly isResumed: boolean
  readonly from: CopyTally
  readonly to: CopyTally
}

/** The setting `move`: in the source `moving`, then `moved`; in the target `filling` until the end. */
interface MoveState {
  readonly state: 'none' | 'moving' | 'moved' | 'filling'
  readonly id?: string
  /** The last page of a target. */
  readonly table?: CopyTable
  readonly after?: CopyValue
}

interface MoveSide extends MoveState {
  readonly store: InboxStore
  readonly copy: CopyStore
}

const none = { state: 'none' } as const
const nothing = new Uint8Array()
const newTarget = 'move into a new file, or a new schema in Postgres'

const refusals = {
  moved: 'this inbox was moved to another store: use that one',
  moving: 'this inbox is being moved: run `idv-webhooks inbox move` again until it is complete',
  filling:
    'an inbox is being moved into this one: run `idv-webhooks inbox move` again from its source until it is complete',
}

/**
 * Moves everything that the store `from` holds into the store `to`, which must hold no row. The
 * applications of both must be stopped; afterwards an inbox over `from` is refused.
 *
 * @throws WebhookError `STORE_UNSUITABLE`; `STORE_OWNED` while a receiver or worker has one of them
 * open; `STORE_FAILED` if the copy differs: `from` opens again then, `to` does not
 */
export async function moveInbox(
  from: InboxStore,
  to: InboxStore,
  options: MoveOptions = {},
): Promise<MoveReport> {
  if (from === to) throw oneInbox()
  try {
    for (const store of [from, to]) await store.open(() => {})
    return await move(await sideOf(from), await sideOf(to), options)
  } finally {
    for (const store of [from, to]) await store.close()
  }
}

async function move(from: MoveSide, to: MoveSide, options: MoveOptions): Promise<MoveReport> {
  const isResumed = from.state !== 'none'
  if (to.state !== 'filling' || to.id !== from.id) await assertReady(from, to)
  for (const side of [from, to]) await assertAlone(side, isResumed)
  const id = from.id ?? randomUUID()
  await write(from, { state: 'moving', id })
  if (to.state === 'none') await markTarget(from, to, id)
  await copyAll(from.copy, { ...to, id }, options)
  const tallies = { from: await from.copy.tally(), to: await to.copy.tally() }
  const difference = differenceOf(tallies)
  if (difference !== undefined) {
    // The target stays closed: what it holds is not a whole inbox.
    await write(from, none)
    throw new WebhookError(
      'STORE_FAILED',
      `the copy differs from the original: ${difference}. The source opens again, the target does not: ${newTarget}`,
    )
  }
  await to.copy.finish()
  await write(from, { state: 'moved', id })
  await write(to, none)
  return { isResumed, ...tallies }
}

/** Refuses an inbox that is being moved, or was. @throws WebhookError `STORE_UNSUITABLE` */
export async function assertNotMoved(store: InboxStore): Promise<void> {
  const { state } = await stateOf(store)
  if (state !== 'none') throw unsuitable(refusals[state])
}

async function sideOf(store: InboxStore): Promise<MoveSide> {
  const { copy } = store
  if (!copy) throw unsuitable(`the ${store.name} store, opened like this, cannot be moved`)
  return { store, copy, ...(await stateOf(store)) }
}

async function stateOf(store: InboxStore): Promise<MoveState> {
  const value = await store.recall(moveSetting, nothing)
  return value.length > 0 ? JSON.parse(new TextDecoder().decode(value)) : none
}

async function write({ store }: MoveSide, state: MoveState): Promise<void> {
  const value = state === none ? nothing : new TextEncoder().encode(JSON.stringify(state))
  await store.remember(moveSetting, value)
}

async function assertReady(from: MoveSide, to: MoveSide): Promise<void> {
  if (from.state === 'moved' || from.state === 'filling') throw unsuitable(refusals[from.state])
  if (to.state !== 'none') throw unsuitable(`the target is part of another move: ${newTarget}`)
  const held = Object.entries(await to.copy.tally()).flatMap(([what, n]) => (n > 0 ? [what] : []))
  if (held.length === 0) return
  const message = `the target must be an empty inbox, but holds ${held.join(', ')}: ${newTarget}`
  throw unsuitable(message)
}

/** The source is marked first: if the target then has the same mark, both are one inbox. */
async function markTarget(from: MoveSide, to: MoveSide, id: string): Promise<void> {
  if ((await stateOf(to.store)).id !== id) return write(to, { state: 'filling', id })
  await write(from, none)
  throw oneInbox()
}

/** A process that was killed counts as alive for some seconds: a repeated move waits for its end. */
async function assertAlone({ store, copy }: MoveSide, isResumed: boolean): Promise<void> {
  let others = await copy.others()
  for (let tries = isResumed ? 80 : 0; others > 0 && tries > 0; tries--) {
    await sleep(250)
    others = await copy.others()
  }
  if (others === 0) return
  throw new WebhookError(
    'STORE_OWNED',
    `${others} other processes have the ${store.name} inbox open: stop its receivers and workers, wait 15 seconds, and try again`,
  )
}

async function copyAll(from: CopyStore, to: MoveSide, options: MoveOptions): Promise<void> {
  const { onProgress = () => {}, signal } = options
  const tally = await from.tally()
  for (const table of tableNames.slice(to.table ? tableNames.indexOf(to.table) : 0)) {
    let after = table === to.table ? to.after : undefined
    for (let rows = 0; ; ) {
      signal?.throwIfAborted()
      const page = await from.read(table, after)
      const last = page.at(-1)
      if (!last) break
      await to.copy.add(table, page)
      after = last[keyOf(table)] ?? null
      await write(to, { state: 'filling', id: to.id ?? '', table, after })
      rows += page.length
      onProgress({ table, rows, of: tally[table] ?? rows })
    }
  }
}

/** The first count that differs between the two, in words. */
function differenceOf({ from, to }: Readonly<Record<'from' | 'to', CopyTally>>) {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  const name = names.find((one) => (from[one] ?? 0) !== (to[one] ?? 0))
  return name && `${from[name] ?? 0} ${name} became ${to[name] ?? 0}`
}

const oneInbox = () => unsuitable(`the source and the target are the same inbox: ${newTarget}`)

function unsuitable(message: string): WebhookError {
  return new WebhookError('STORE_UNSUITABLE', message)
}
