// The --json lines of the commands that work on an inbox: inbox and reconcile.
import type { ReconcileProgress, ReconcileReport } from '../../../src/client/index.ts'
import type { CopyTally, Entry, InboxStats, MoveProgress } from '../../../src/inbox/index.ts'

/** `inbox list` and `inbox show`: an entry, without its delivery. */
export type EntryLine = Omit<Entry, 'delivery'> & {
  readonly type: 'entry'
  /** `inbox list`: the id of an earlier entry about the same entity, for whose retry it waits. */
  readonly waitsFor?: string
  /** `inbox show`: the secret that signed it. */
  readonly secretId?: string
  /** `inbox show`: the body as text, or as base64 when it is not text. */
  readonly payload?: string
  readonly masked?: boolean
  /** Only with --show-payload. */
  readonly headers?: readonly (readonly [name: string, value: string])[]
}

interface InboxLines {
  readonly page: { readonly entries: number; readonly cursor?: string }
  readonly missing: { readonly id: string }
  readonly stats: InboxStats
  readonly refused: { readonly id: string; readonly reason?: string }
  readonly redriven: Acted
  readonly replayed: Acted
  readonly dismissed: Acted
  readonly forgotten: { readonly entity: string; readonly payloads: number }
  readonly summary: { readonly entities: number; readonly of: number; readonly payloads: number }
  readonly progress: MoveProgress
  readonly moved: {
    /** Files, or addresses without user and password. */
    readonly source: string
    readonly target: string
    readonly state: 'moved' | 'planned'
    readonly isResumed: boolean
    readonly from: CopyTally
    readonly to: CopyTally
  }
  readonly schema: { readonly sql: string }
  readonly purged: { readonly erased: number; readonly deleted: number }
}

/** How many entries an action was done to, of how many chosen. */
interface Acted {
  readonly entries: number
  readonly of: number
  /** After an error: entries whose answer was lost. */
  readonly unknown?: number
}

/** `inbox`: every other line, by its type. */
export type InboxLine<Type extends keyof InboxLines> = Type extends keyof InboxLines
  ? { readonly type: Type } & InboxLines[Type]
  : never

/** `reconcile`: how far it has come, and the result. */
export type ReconcileLine =
  | ({ readonly type: 'progress' } & ReconcileProgress)
  /** It failed or was interrupted: what is in the inbox by then. */
  | { readonly type: 'stopped'; readonly added: number }
  | ({ readonly type: 'report' } & ReconcileReport)
