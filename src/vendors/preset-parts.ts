// Parts of most presets: their scheme, their pages, the decisions that a review may change, and
// decisions that a record of the vendor's API states at one path or two.

import type { EventName } from '../protocol/names.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Scheme, SchemeDefinition } from '../protocol/scheme-definition.ts'
import type { VendorDecision, VendorDocument, VendorReading } from '../protocol/vendor.ts'

/** A definition without its name. */
export type Unnamed = Omit<SchemeDefinition, 'name'>

/** HMAC-SHA256 of the body in hex under a UTF-8 secret, as most senders sign, or what differs. */
export const hex = (
  header: SchemeDefinition['header'],
  difference: Partial<Unnamed> = {},
): Unnamed => ({
  ...({ header, algorithm: 'sha256', key: 'utf8', encoding: 'hex' } as const),
  ...({ grammar: 'plain', signed: '{body}' } as const),
  ...difference,
})

/** The scheme of a vendor: that of `hex`. */
export const bodyHmac = (name: string, ...signing: Parameters<typeof hex>): Scheme =>
  schemes.define({ name, ...hex(...signing) })

/** Pages of the vendor's documents: a line for each, the day on which it was read and its address. */
export const pages = (lines: string): readonly VendorDocument[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => {
      const [read = '', url = ''] = line.trim().split(' ')
      return { url, read }
    })

export const approvedOrRejected = ['verification.approved', 'verification.rejected'] as const

interface RecordStates extends Omit<VendorDecision, 'reading' | 'fixtures' | 'outdated'> {
  readonly reading: Omit<VendorReading, 'name' | 'rules'>
  /** The paths of the state. */
  readonly at: readonly string[]
  /** Names by state, its values joined by a colon; null for a state that decides nothing. */
  readonly states: Readonly<Record<string, EventName | null>>
  /** States of a record that is older than the hint. */
  readonly before?: readonly string[]
  /** Writes the record of a state, as the vendor's documents show it. */
  readonly record: (value: string, second?: string) => Readonly<Record<string, unknown>>
}

/** The decision, with an example of each state. */
export function behind({
  at,
  states,
  before,
  record,
  reading,
  ...rest
}: RecordStates): VendorDecision {
  const all = Object.entries(states).map(([state, is]) => ({ values: state.split(':'), is }))
  const rules = all.flatMap(({ values, is }) => {
    return is ? { when: Object.fromEntries(values.map((one, nth) => [at[nth], one])), is } : []
  })
  const fixtures = all.map(({ values: [value = '', second], is }) => {
    return { ...(is && { name: is }), body: record(value, second) }
  })
  const outdated = before && { outdated: { [at[0] ?? '']: before } }
  return { ...rest, ...outdated, reading: { ...reading, name: at, rules }, fixtures }
}
