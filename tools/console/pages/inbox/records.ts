// The inbox's records as its console reads them: as JSON, their times as text.
import { type CallOptions, call } from '../call.ts'
import { config } from '../config.ts'

export const states = ['stored', 'leased', 'retry', 'done', 'dead', 'skipped'] as const
export type State = (typeof states)[number]

export interface Entry {
  readonly id: string
  readonly state: State
  readonly source: string
  readonly name?: string
  readonly receivedName?: string
  readonly eventId?: string
  readonly entity?: { readonly type: string; readonly id: string }
  readonly tenant?: string
  readonly occurredAt?: string
  readonly receivedAt: string
  readonly attempts: number
  readonly dueAt?: string
  readonly settledAt?: string
  readonly reason?: string
  readonly failures: readonly {
    readonly handler: string
    readonly code: string
    readonly error: string
  }[]
  readonly handled: readonly string[]
  readonly generation: number
  readonly conflictOf?: string
  readonly bytes: number
  readonly erased: boolean
  readonly unreadable?: boolean
}

export interface EntryPage {
  readonly entries: readonly Entry[]
  readonly cursor?: string
}

export type Stats = Readonly<Record<State, number>> & {
  readonly lag: number
  readonly oldestAge?: number
}

export interface BarCounts {
  readonly at: string
  readonly counts: Readonly<Partial<Record<State, number>>>
  readonly legacy: number
}

export interface Overview {
  readonly stats: Stats
  readonly now: string
  readonly capabilities: Readonly<Record<string, unknown>>
  readonly history: {
    readonly width: number
    readonly buckets: readonly BarCounts[]
    readonly legacyNames: Readonly<Record<string, number>>
    readonly readBackTo?: string
  }
}

/** A request to the inbox's own routes. */
export function ask<Answer>(path: string, options?: CallOptions): Promise<Answer> {
  return call<Answer>(`${config.base}/api${path}`, options)
}

export const entityOf = ({ entity }: Entry) => entity && `${entity.type}:${entity.id}`
