// The inbox's records as its console reads them: as JSON, their times as text.

import type { InboxStats } from '../../../../src/inbox/admin.ts'
import type { EntryState, Entry as InboxEntry } from '../../../../src/inbox/entry.ts'
import type { History } from '../../inbox-history.ts'
import { type CallOptions, call, config } from '../call.ts'

export const states: readonly EntryState[] = [
  'stored',
  'leased',
  'retry',
  'done',
  'dead',
  'skipped',
]

type AsJson<Value> = {
  readonly [Key in keyof Value]: Value[Key] extends Date | undefined ? string : Value[Key]
}
export type Entry = AsJson<InboxEntry>

export interface EntryPage {
  readonly entries: readonly Entry[]
  readonly cursor?: string
}

export interface Overview {
  readonly stats: InboxStats
  readonly now: string
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly history: History
}

/** A request to the inbox's own routes. */
export function ask<Answer>(path: string, options?: CallOptions): Promise<Answer> {
  return call<Answer>(`${config.base}/api${path}`, options)
}

export const entityOf = ({ entity }: Entry) => entity && `${entity.type}:${entity.id}`
