// The inbox's records as its console reads them: as JSON, their times as text.

import type { InboxStats } from '../../../../src/inbox/admin.ts'
import type { EntryState, Entry as InboxEntry } from '../../../../src/inbox/entry.ts'
import type { History } from '../../inbox-history.ts'
import { call, config, type PageFetchOptions } from '../call.ts'

export const states: readonly EntryState[] = [
  'stored',
  'leased',
  'retry',
  'done',
  'dead',
  'skipped',
]

type WithTextDates<Value> = {
  readonly [Key in keyof Value]: Value[Key] extends Date | undefined ? string : Value[Key]
}
export type EntryRow = WithTextDates<InboxEntry>

export interface EntryRows {
  readonly entries: readonly EntryRow[]
  readonly cursor?: string
}

export interface Overview {
  readonly stats: InboxStats
  readonly now: string
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly history: History
}

/** A request to the inbox's own routes. */
export function ask<Answer>(path: string, options?: PageFetchOptions): Promise<Answer> {
  return call<Answer>(`${config.base}/api${path}`, options)
}

export const entityOf = ({ entity }: EntryRow) => entity && `${entity.type}:${entity.id}`
