// Decisions that a record of the vendor's API states at one path or two, as data.
import type { EventName } from '../protocol/names.ts'
import type { VendorDecision, VendorReading } from '../protocol/vendor.ts'

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
