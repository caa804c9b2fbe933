// The --json lines of migrate.

import type { Totals } from '../migrate/code/report.ts'
import type { Edit, Finding } from '../migrate/code/rewrite.ts'
import type { LegacyArrivals } from '../migrate/exclusions.ts'
import type { SqlScripts } from '../migrate/sql.ts'
import type { Planned } from '../migrate/subscriptions/plan.ts'
import type { SecretOrigin } from '../migrate/subscriptions/signing-secrets.ts'
import type { AsJson } from './keeping.ts'

/** `migrate code`. */
export type MigrateCodeRecord =
  | {
      readonly type: 'file'
      readonly file: string
      readonly edits: readonly Edit[]
      readonly written: boolean
    }
  | ({ readonly type: 'finding' | 'collision'; readonly file: string } & Finding)
  | {
      readonly type: 'unreadable'
      readonly file: string
      readonly message: string
      readonly line?: number
      readonly column?: number
    }
  /** To be changed, and left as it was. */
  | { readonly type: 'left'; readonly file: string; readonly message: string }
  | ({
      readonly type: 'summary'
      readonly written: boolean
      readonly interrupted: boolean
    } & Totals)

/** `migrate subscriptions`. */
export type MigrateSubscriptionsRecord =
  | ({
      readonly type: 'plan'
      readonly id: string
      readonly url: string
      readonly events: readonly string[]
      readonly steps: readonly string[]
    } & Omit<Planned, 'subscription'>)
  | { readonly type: 'summary'; readonly subscriptions: number; readonly legacy: number }
  | {
      readonly type: 'step'
      readonly id: string
      readonly did: string
      readonly replacement?: string
      /** Of a new one, which secret it signs with: that of the old one, one given, or a new one. */
      readonly secret?: SecretOrigin
    }
  /** How many steps of a run that failed or was interrupted were taken back. */
  | { readonly type: 'taken-back'; readonly steps: number; readonly begun: number }
  /** A creation whose answer was lost: nobody knows what became of it. */
  | {
      readonly type: 'remains'
      readonly of: string
      readonly events: readonly string[]
      readonly url: string
    }
  | { readonly type: 'summary'; readonly steps: number; readonly waiting: number }

/** `migrate captures`. */
export type MigrateCapturesRecord =
  | {
      readonly type: 'capture'
      readonly file: string
      readonly state: string
      readonly from?: string
      readonly to?: string
      readonly target?: string
    }
  | ({ readonly type: 'summary' } & Readonly<Record<string, number | string>>)

/** `migrate data`. */
export type MigrateDataRecord = { readonly type: 'script'; readonly dialect: string } & SqlScripts

/** `migrate status`. */
export type MigrateStatusRecord =
  | {
      readonly type: 'evidence'
      readonly source: 'inbox' | 'log'
      readonly arrivals: number
      /** In how many days (UTC) anything came. */
      readonly days: number
      /** Lines of outcomes that could not be read. */
      readonly unread: number
      readonly since?: string
      readonly until?: string
    }
  | ({ readonly type: 'legacy'; readonly source: 'inbox' | 'log' } & AsJson<LegacyArrivals>)
  | {
      readonly type: 'status'
      readonly safe: boolean
      readonly silentDays: number
      readonly days: number
      readonly unread: number
      readonly lastSeen?: string
    }
