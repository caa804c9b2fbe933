// The whole state as one JSON value, and whether a value is one. It holds secrets: whoever asks for
// a snapshot asks for them.
import type { EngineDump } from './engine.ts'
import type { SavedWorld } from './world.ts'

export interface Snapshot {
  readonly version: 1
  readonly seed: string | number
  /** The secret of subscriptions that name none. */
  readonly secret: string
  readonly clock: unknown
  readonly random: unknown
  readonly faults: unknown
  readonly world: SavedWorld
  readonly engine: EngineDump
}

const worldLists = ['verifications', 'clients', 'outbox', 'organisations', 'keys'] as const
const engineLists = ['subscriptions', 'deliveries'] as const

/** What is wrong with a value that should be a snapshot; undefined when nothing is. */
export function snapshotFault(value: unknown): string | undefined {
  if (!isObject(value)) return 'is no object'
  if (value.version !== 1) return 'has a version other than 1'
  if (typeof value.secret !== 'string') return 'has no secret'
  const { world, engine } = value
  if (!isObject(world) || !worldLists.every((name) => isListOfObjects(world[name]))) {
    return 'has no whole world'
  }
  if (!Number.isSafeInteger(world.seq) || !isObject(world.rates)) return 'has no whole world'
  const rows = [world.verifications, world.clients].flat()
  if (!rows.every((row) => isObject(row) && isObject(row.resource))) return 'has a broken row'
  if (!isObject(engine) || !engineLists.every((name) => isListOfObjects(engine[name]))) {
    return 'has no subscriptions or deliveries'
  }
  return undefined
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const isListOfObjects = (value: unknown) => Array.isArray(value) && value.every(isObject)
