// The --json lines of migrate.

import type { PlannedSubscription, SubscriptionStep } from '../../../src/client/index.ts'
import type { Edit, Finding } from '../migrate/code/rewrite.ts'

/** `migrate code`. */
export type MigrateCodeLine =
  | {
      readonly type: 'file'
      readonly file: string
      readonly edits: readonly Edit[]
      readonly written: boolean
    }
  | ({ readonly type: 'finding'; readonly file: string } & Finding)
  /** `left` should have been changed and was not. */
  | { readonly type: 'unreadable' | 'left'; readonly file: string; readonly message: string }
  | {
      readonly type: 'summary'
      readonly changed: number
      readonly names: number
      readonly findings: number
      readonly errors: number
      readonly left: number
      readonly written: boolean
    }

/** `migrate subscriptions`. */
export type MigrateSubscriptionsLine =
  | ({
      readonly type: 'plan'
      readonly id: string
      readonly url: string
      readonly events: readonly string[]
    } & Omit<PlannedSubscription, 'subscription'>)
  | { readonly type: 'summary'; readonly subscriptions: number; readonly legacy: number }
  | ({ readonly type: 'step' } & SubscriptionStep)
  | { readonly type: 'summary'; readonly steps: number; readonly waiting: number }

/** Result for a capture. */
export type CaptureState = 'written' | 'current' | 'there' | 'unproved' | 'exists'

/** `migrate captures`. */
export type MigrateCapturesLine =
  | {
      readonly type: 'capture'
      readonly file: string
      readonly state: CaptureState
      readonly from?: string
      readonly to?: string
      readonly target?: string
    }
  | ({ readonly type: 'summary' } & Readonly<Record<CaptureState, number>>)

/** `migrate data`. */
export type MigrateDataLine = {
  readonly type: 'script'
  readonly dialect: string
  readonly script: string
}

/** The arrivals of one legacy name with one secret; each subscription has its own. */
export interface LegacyArrivals {
  readonly receivedName: string
  readonly name: string
  readonly secretId?: string
  readonly arrivals: number
  readonly lastSeen: Date
}

/** The conclusion from all sources. */
export interface Verdict {
  readonly safe: boolean
  /** Days with events since the last legacy name. */
  readonly quietDays: number
  readonly lastSeen?: Date
  readonly unread: number
}

/** `migrate status`. */
export type MigrateStatusLine =
  | {
      readonly type: 'evidence'
      readonly source: 'inbox' | 'log'
      readonly arrivals: number
      /** On how many days (UTC) events arrived. */
      readonly days: number
      /** Lines of outcomes that could not be read. */
      readonly unread: number
    }
  | ({ readonly type: 'legacy'; readonly source: 'inbox' | 'log' } & LegacyArrivals)
  | ({ readonly type: 'status'; readonly days: number } & Verdict)
