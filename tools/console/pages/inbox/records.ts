// The inbox's records as its console reads them: as JSON, their times as text.
import type { InboxStats } from '../../../../src/inbox/admin.ts'
import type { EntryState, Entry as InboxEntry } from '../../../../src/inbox/entry.ts'
import type { History } from '../../inbox-history.ts'
import { call, config, type RequestOptions } from '../call.ts'

/** In the order of attention that they need. */
export const states: readonly EntryState[] = [
  'dead',
  'retry',
  'stored',
  'leased',
  'done',
  'skipped',
]

type TimesAsText<Value> = {
  readonly [Key in keyof Value]: Value[Key] extends Date | undefined ? string : Value[Key]
}
export type InboxRow = TimesAsText<InboxEntry>

export interface InboxOverview {
  readonly stats: InboxStats
  readonly now: string
  readonly history: History
  /** The newest dead letters and entries that wait for a retry. */
  readonly failing: readonly InboxRow[]
}

/** A request to the inbox's own routes. */
export function ask<Answer>(path: string, options?: RequestOptions): Promise<Answer> {
  return call<Answer>(`${config.base}/api${path}`, options)
}

export const overviewOf = (span: string) => ({
  key: `overview ${span}`,
  ask: (signal: AbortSignal) => ask<InboxOverview>(`/overview?span=${span}`, { signal }),
  on: ['changed'],
})

export const entityOf = ({ entity }: InboxRow) => entity && `${entity.type}:${entity.id}`

/** Whether an entry failed after it was redriven or replayed. */
export const hasFailedAgain = ({ generation, state }: InboxRow) =>
  generation > 0 && (state === 'dead' || state === 'retry')
