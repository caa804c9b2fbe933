// The interface of the files in this folder: their ways of handling a delivery, grouped by how much
// they do.
import type { Contender } from '../compare.ts'

export interface Sample {
  readonly body: Buffer<ArrayBuffer>
  /** The hex digest of the body. */
  readonly signature: string
  /** The schema by which all contenders validate the event's data. */
  readonly schema: Schema
  readonly handler: (event: unknown) => boolean
}

export interface Schema {
  safeParse(data: unknown): { success: true; data: unknown } | { success: false; error: Error }
}

export interface Event {
  event: string
  data: unknown
}

/** How much of the work is done. */
export type Group =
  | 'verify'
  | 'verify + parse'
  | 'everything'
  | 'wrong signature'
  | 'missing signature'

export type SetUp = (sample: Sample) => readonly (Contender & { readonly group: Group })[]

/** Older names of events, as a team would map them itself. */
export const olderNames = new Map(
  ['created', 'submitted', 'approved', 'rejected', 'canceled', 'expired'].map((what) => [
    `request.${what}`,
    `verification.${what}`,
  ]),
)

export const wrongSignature = '0'.repeat(64)

/** Renames, validates and hands over what was parsed. */
export function finish(event: Event, { schema, handler }: Sample): boolean {
  event.event = olderNames.get(event.event) ?? event.event
  const checked = schema.safeParse(event.data)
  if (!checked.success) throw checked.error
  event.data = checked.data
  return handler(event)
}

/** True where a contender refuses by throwing. */
export function throws(work: () => unknown): boolean {
  try {
    work()
  } catch {
    return true
  }
  return false
}
