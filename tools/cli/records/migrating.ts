// The --json lines of migrate.

import type { PlannedSubscription, SubscriptionStep } from '../../../src/client/index.ts'
import type { Edit, Finding } from '../migrate/code/finding.ts'
import type { UnreadableFile } from '../migrate/code/migrate-files.ts'
import type { Totals } from '../migrate/code/totals.ts'
import type { LegacyArrivals } from '../migrate/quiet-period.ts'
import type { SqlScripts } from '../migrate/sql.ts'

/** `migrate code`. */
export type MigrateCodeLine =
  | {
      readonly type: 'file'
      readonly file: string
      readonly edits: readonly Edit[]
      readonly written: boolean
    }
  | ({ readonly type: 'finding' | 'collision'; readonly file: string } & Finding)
  | ({ readonly type: 'unreadable'; readonly file: string } & UnreadableFile)
  /** A file that should have been changed and was not. */
  | { readonly type: 'left'; readonly file: string; readonly message: string }
  | ({
      readonly type: 'summary'
      readonly written: boolean
      readonly interrupted: boolean
    } & Totals)

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
export type CaptureState = 'written' | 'current' | 'there' | 'refused' | 'unproved' | 'exists'

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
export type MigrateDataLine = { readonly type: 'script'; readonly dialect: string } & SqlScripts

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
      readonly since?: Date
      readonly until?: Date
    }
  | ({ readonly type: 'legacy'; readonly source: 'inbox' | 'log' } & LegacyArrivals)
  | {
      readonly type: 'status'
      readonly safe: boolean
      readonly quietDays: number
      readonly days: number
      readonly unread: number
      readonly lastSeen?: Date
    }
