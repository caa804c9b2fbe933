// The calls to the writer, as one list for both threads: what each takes and what it gives.
import type { WebhookErrorCode } from '../../../errors.ts'
import type {
  LatencyQuery,
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import type { CopyValue } from '../../copy-store.ts'
import type { ForgetPage, ForgottenPage } from '../../forget-pages.ts'
import type {
  Alignment,
  Assigned,
  Assignment,
  ClaimRequest,
  ClaimResult,
  Inserted,
  Lapsed,
  Lease,
  NewEntry,
  Settlement,
} from '../../work-store.ts'

interface CallOf<Takes, Gives> {
  readonly takes: Takes
  readonly gives: Gives
}

/** A page of what is to be forgotten. */
export interface Forgetting extends ForgetPage {
  readonly lane: string
  readonly now: number
  readonly ofNone: boolean
}

/** Every call, by its name. */
export interface Calls {
  insert: CallOf<NewEntry, Inserted>
  claim: CallOf<ClaimRequest, ClaimResult>
  align: CallOf<Alignment, void>
  renew: CallOf<{ readonly leases: readonly Lease[]; readonly until: number }, void>
  lapsed: CallOf<{ readonly now: number }, readonly Lapsed[]>
  checkpoint: CallOf<{ readonly lease: Lease; readonly handler?: string | undefined }, boolean>
  settle: CallOf<Settlement, boolean>
  assign: CallOf<Assignment, Assigned>
  find: CallOf<StoreQuery, readonly StoredEntry[]>
  reopen: CallOf<Reopening, number>
  dismiss: CallOf<{ readonly id: string; readonly now: number }, boolean>
  forget: CallOf<Forgetting, ForgottenPage>
  purge: CallOf<Purge, Purged>
  stats: CallOf<{ readonly now: number; readonly latency?: LatencyQuery | undefined }, StoreStats>
  recall: CallOf<{ readonly name: string; readonly initial: Uint8Array }, Uint8Array>
  remember: CallOf<{ readonly name: string; readonly value: Uint8Array }, void>
  copy: CallOf<
    { readonly sql: string; readonly values: readonly CopyValue[] },
    readonly Record<string, unknown>[]
  >
}

export type Method = keyof Calls
export type Takes<M extends Method> = Calls[M]['takes']
export type Gives<M extends Method> = Calls[M]['gives']

/** One call with its argument. */
export type Call<M extends Method = Method> = {
  [One in M]: { readonly method: One; readonly argument: Takes<One> }
}[M]

/** Handlers of the calls. */
export type Handlers = { readonly [M in Method]: (argument: Takes<M>) => Gives<M> }

/** The answer to one call of a committed batch. */
export type Answer<M extends Method = Method> =
  | { readonly ok: true; readonly value: Gives<M> }
  | { readonly ok: false; readonly message: string }

/** The answer to a batch; after a `fatal` failure nothing more is written until a restart. */
export type BatchAnswer =
  | { readonly ok: true; readonly answers: readonly Answer[] }
  | {
      readonly ok: false
      readonly code: WebhookErrorCode
      readonly message: string
      readonly fatal: boolean
    }
