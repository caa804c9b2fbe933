// Moves an inbox from one store to another: every row as it is, once. Each step may be repeated, so
// that a move which was interrupted goes on where it was.
import { randomUUID } from 'node:crypto'
import { WebhookError } from '../errors.ts'
import { sleep } from '../foundation/abortable.ts'
import { type CopyStore, type CopyTable, type CopyTally, copyTables } from './copy-store.ts'
import {
  type MoveState,
  moveRefusals,
  moveSetting,
  moveSettingOf,
  moveStateOf,
  originSetting,
} from './move-state.ts'
import type { InboxStore } from './store.ts'

/** Options of `moveInbox`. */
export interface MoveOptions {
  /** Looks at both stores and changes nothing but what opening them does. Default false. */
  readonly dryRun?: boolean
  /** Called after each page. */
  readonly onProgress?: (progress: MoveProgress) => void
  /** Ends the move between two pages; the same call again goes on. */
  readonly signal?: AbortSignal
}

/** How far a move is: rows that were copied by this call, of those that there are. */
export interface MoveProgress {
  readonly table: CopyTable
  readonly rows: number
  readonly of: number
}

/** The report of a move. */
export interface MoveReport {
  /** `planned` by a dry run; `before` when an earlier call had completed it. */
  readonly state: 'moved' | 'planned' | 'before'
  /** An earlier call was interrupted. */
  readonly isResumed: boolean
  /** Counts of both stores, by what was counted; `to` is missing unless they were compared. */
  readonly from: CopyTally
  readonly to?: CopyTally
}

interface Side {
  readonly store: InboxStore
  readonly copy: CopyStore
  readonly progress: MoveState
}

/** Milliseconds after which a process that was killed no longer counts as alive. */
const patience = 20_000

/** The advice for a target that is refused. */
const fresh = 'a new file, or a new schema in Postgres'

/** Keys of a page: contents are large. */
const pageSize = (table: CopyTable) => (table === 'contents' ? 32 : 500)

/**
 * Moves everything that the store `from` holds into the store `to`, which must hold no row. The
 * applications of both must be stopped; afterwards an inbox over `from` is refused.
 *
 * @throws WebhookError `STORE_UNSUITABLE` where that is not so; `STORE_OWNED`; `STORE_FAILED` if the
 * copy differs: `from` opens again then, `to` does not
 */
export async function moveInbox(
  from: InboxStore,
  to: InboxStore,
  options: MoveOptions = {},
): Promise<MoveReport> {
  if (from === to) throw oneInbox()
  const ends: (() => Promise<void>)[] = []
  try {
    for (const store of [from, to]) {
      await store.open(() => {})
      ends.push(() => store.close())
    }
    await assertTwo(from, to)
    return await move(await sideOf(from), await sideOf(to), options)
  } finally {
    for (const end of ends) await end()
  }
}

async function move(from: Side, to: Side, options: MoveOptions): Promise<MoveReport> {
  const { dryRun = false } = options
  const origin = text(await to.store.recall(originSetting, nothing))
  const isThere = from.progress.id !== '' && origin === from.progress.id
  const isResumed = from.progress.state !== 'none'
  if (isThere && to.progress.state === 'none') {
    if (!dryRun) await from.store.remember(moveSetting, moveSettingOf('moved', from.progress.id))
    return { state: 'before', isResumed, from: await from.copy.tally() }
  }
  await assertReady(from, to)
  await assertPossible(from, to)
  // Whoever was killed while it moved them counts as alive for some seconds.
  await assertAlone([from, to], isResumed ? patience : 0)
  if (dryRun) return { state: 'planned', isResumed, from: await from.copy.tally() }
  const id = from.progress.id || randomUUID()
  // First the one that is left: from now on no application opens it, or works on it.
  await from.store.remember(moveSetting, moveSettingOf('moving', id))
  await to.store.remember(moveSetting, moveSettingOf('filling', id))
  await quiesce([from, to]).catch(async (error: unknown) => {
    if (!isResumed) await giveUp([from, to])
    throw error
  })
  await from.copy.restore?.()
  await copyAll(from.copy, to.copy, options)
  const tallies = { from: await from.copy.tally(), to: await to.copy.tally() }
  const difference = differenceOf(tallies) ?? (await lostSetting(from.copy, to.copy))
  if (difference !== undefined) {
    // The target stays shut: what it holds is not the inbox.
    await giveUp([from])
    throw different(difference)
  }
  await to.copy.finish()
  await to.store.remember(originSetting, encoder.encode(id))
  await to.store.remember(moveSetting, nothing)
  await from.store.remember(moveSetting, moveSettingOf('moved', id))
  return { state: 'moved', isResumed, ...tallies }
}

/**
 * Refuses an inbox that is being moved, or was.
 *
 * @throws WebhookError `STORE_UNSUITABLE`
 */
export async function assertNotMoved(store: InboxStore): Promise<void> {
  const { state } = await stateOf(store)
  if (state === 'none') return
  throw unsuitable(moveRefusals[state])
}

/** Before anything is asked of them: a setting that is read is stored first. */
async function assertTwo(from: InboxStore, to: InboxStore): Promise<void> {
  const [source, target] = [await from.copy?.identity(), await to.copy?.identity()]
  if (source !== undefined && source === target) throw oneInbox()
}

async function sideOf(store: InboxStore): Promise<Side> {
  const { copy } = store
  if (!copy) throw unsuitable(`the ${store.name} store, opened like this, cannot be moved`)
  return { store, copy, progress: await stateOf(store) }
}

async function assertReady(from: Side, to: Side): Promise<void> {
  const isOurs = to.progress.state === 'filling' && to.progress.id === from.progress.id
  // A target may lose its last steps to a crash or a failover: then it is filled again.
  if (from.progress.state === 'moved' && !isOurs)
    throw unsuitable('this inbox was moved to another store before')
  if (from.progress.state === 'filling')
    throw unsuitable('this inbox is the target of a move that is not complete: complete that first')
  if (to.progress.state === 'moved')
    throw unsuitable('the target was itself moved to another store')
  if (to.progress.state === 'moving')
    throw unsuitable('the target is itself being moved to another store: complete that first')
  if (to.progress.state === 'none') return assertEmpty(to)
  if (!isOurs)
    throw unsuitable(`the target holds the incomplete copy of another move: move into ${fresh}`)
}

/** Rows of any kind: the copy goes on after the last key, and leaves what is there as it is. */
async function assertEmpty({ copy }: Side): Promise<void> {
  const tally = await copy.tally()
  const held = Object.keys(copyTables).filter((table) => (tally[table] ?? 0) > 0)
  if (held.length === 0) return
  const rows = held.map((table) => `${tally[table]} ${table}`).join(', ')
  throw unsuitable(
    `the target must be an empty inbox, but holds rows (${rows}): move into ${fresh}`,
  )
}

/** Reads a row of each table, and asks for the rights to the last step, before anything is shut. */
async function assertPossible(from: Side, to: Side): Promise<void> {
  for (const table of Object.keys(copyTables) as CopyTable[]) {
    await from.copy.read({ table, limit: 1 })
  }
  await to.copy.assertFillable()
}

async function assertAlone(sides: readonly Side[], wait: number): Promise<void> {
  const until = performance.now() + wait
  for (const { store, copy } of sides) {
    let others = await copy.others()
    while (others > 0 && performance.now() < until) {
      await sleep(250)
      others = await copy.others()
    }
    if (others === 0) continue
    throw new WebhookError(
      'STORE_OWNED',
      `${others} other processes have the ${store.name} inbox open: stop them, wait 15 seconds, and try again`,
    )
  }
}

/** A process that is silent is not counted: what it had begun ends before anything is copied. */
async function quiesce(sides: readonly Side[]): Promise<void> {
  await assertAlone(sides, 0)
  for (const { copy } of sides) await copy.quiesce()
}

async function giveUp(sides: readonly Side[]): Promise<void> {
  for (const { store } of sides) await store.remember(moveSetting, nothing)
}

async function copyAll(from: CopyStore, to: CopyStore, options: MoveOptions): Promise<void> {
  const { onProgress = () => {}, signal } = options
  const tally = await from.tally()
  for (const table of Object.keys(copyTables) as CopyTable[]) {
    const [key] = copyTables[table]
    let after = table === 'settings' ? undefined : await to.last(table)
    for (let rows = 0; ; ) {
      signal?.throwIfAborted()
      const limit = pageSize(table)
      const page = await from.read({ table, limit, ...(after !== undefined && { after }) })
      const last = page.at(-1)
      if (!last) break
      await to.add(table, page)
      after = (last as Record<typeof key, string | number>)[key]
      rows += page.length
      onProgress({ table, rows, of: tally[table] ?? rows })
    }
  }
}

interface Tallies {
  readonly from: CopyTally
  readonly to: CopyTally
}

/** The first count that is not the same in both, in words. */
function differenceOf({ from, to }: Tallies): string | undefined {
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])]
  const name = names.find((one) => (from[one] ?? 0) !== (to[one] ?? 0))
  return name && `${from[name] ?? 0} ${name} became ${to[name] ?? 0}`
}

const nothing = new Uint8Array()
const encoder = new TextEncoder()
const text = (value: Uint8Array) => new TextDecoder().decode(value)

async function stateOf(store: InboxStore): Promise<MoveState> {
  return moveStateOf(await store.recall(moveSetting, nothing))
}

/** Settings, such as the salt of digests, are in no count: each is compared. */
async function lostSetting(from: CopyStore, to: CopyStore): Promise<string | undefined> {
  const all = { table: 'settings', limit: 10_000 } as const
  const values = async (copy: CopyStore) =>
    new Map((await copy.read(all)).map(({ name, value }) => [name, value]))
  const kept = await values(to)
  for (const [name, value] of await values(from)) {
    if (!isSame(value, kept.get(name))) return `the setting ${name} is not the same`
  }
  return undefined
}

const isSame = (one: unknown, other: unknown) =>
  one instanceof Uint8Array && other instanceof Uint8Array && Buffer.compare(one, other) === 0

function different(what: string): WebhookError {
  return new WebhookError(
    'STORE_FAILED',
    `the copy differs from the original: ${what}. The move was given up: the source opens again, the target does not. Move into ${fresh}`,
  )
}

const oneInbox = () =>
  unsuitable(`the source and the target are the same inbox: move into ${fresh}`)

function unsuitable(message: string): WebhookError {
  return new WebhookError('STORE_UNSUITABLE', message)
}
