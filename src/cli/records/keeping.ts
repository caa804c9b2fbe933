// The --json lines of the commands that work on an inbox: inbox and reconcile.
import type { ReconcileProgress, ReconcileReport } from '../../client/index.ts'
import type { Entry, InboxStats } from '../../inbox/index.ts'

/** What JSON makes of a value: moments are ISO 8601. */
export type AsJson<Value> = Value extends Date
  ? string
  : Value extends object
    ? { readonly [Key in keyof Value]: AsJson<Value[Key]> }
    : Value

/** `inbox list` and `inbox show`: an entry, never with its delivery. */
export type EntryRecord = { readonly type: 'entry' } & AsJson<Omit<Entry, 'delivery'>> & {
    /** `inbox show`: which secret proved it. */
    readonly secretId?: string
    /** `inbox show`: the body as text, or base64 of what is no text. */
    readonly payload?: string
    readonly masked?: boolean
    /** With --show-payload alone. */
    readonly headers?: readonly (readonly [name: string, value: string])[]
  }

/** `inbox`: everything else. */
export type InboxRecord =
  | { readonly type: 'page'; readonly entries: number; readonly cursor?: string }
  | { readonly type: 'missing'; readonly id: string }
  | ({ readonly type: 'stats' } & InboxStats)
  | { readonly type: 'refused'; readonly id: string; readonly reason?: string }
  | {
      readonly type: 'redriven' | 'replayed' | 'dismissed'
      readonly entries: number
      readonly of: number
    }
  | { readonly type: 'forgotten'; readonly entity: string; readonly payloads: number }
  | {
      readonly type: 'summary'
      readonly entities: number
      readonly of: number
      readonly payloads: number
    }
  | { readonly type: 'purged'; readonly erased: number; readonly deleted: number }

/** `reconcile`: how far it has come, and what it came to. */
export type ReconcileRecord =
  | ({ readonly type: 'progress' } & AsJson<ReconcileProgress>)
  | ({ readonly type: 'report' } & AsJson<ReconcileReport>)
