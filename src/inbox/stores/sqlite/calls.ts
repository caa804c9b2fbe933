// The calls to the writer, for both threads: the port's methods, with `forget` by pages and the
// statements of a copy.
import type { WebhookErrorCode } from '../../../errors.ts'
import type { AdminStore } from '../../admin-store.ts'
import type { CopyValue } from '../../copy-store.ts'
import type { ForgetPage, ForgottenPage } from '../../forget-pages.ts'
import type { MetaStore } from '../../store.ts'
import type { Inserted, NewEntry, WorkStore } from '../../work-store.ts'

export interface Forgetting extends ForgetPage {
  readonly lane: string
  readonly now: number
  readonly ofNone: boolean
}

/** Methods for arrivals and the worker: an operator's connection carries none of them out. */
export type WorkCall = 'claim' | 'align' | 'renew' | 'lapsed' | 'checkpoint' | 'settle' | 'assign'

export interface WriterPort
  extends Pick<WorkStore, WorkCall>,
    Omit<AdminStore, 'forget'>,
    MetaStore {
  insert(entry: NewEntry): Promise<Inserted>
  insertAll(entries: readonly NewEntry[]): Promise<readonly Inserted[]>
  forget(page: Forgetting): Promise<ForgottenPage>
  copy(sql: string, values: readonly CopyValue[]): Promise<readonly Record<string, unknown>[]>
}

export type WriterMethod = keyof WriterPort
export type Takes<M extends WriterMethod> = Parameters<WriterPort[M]>
export type Gives<M extends WriterMethod> = Awaited<ReturnType<WriterPort[M]>>

export type WriterCall<M extends WriterMethod = WriterMethod> = {
  [One in M]: { readonly method: One; readonly args: Takes<One> }
}[M]

/** Carries the calls out, synchronously inside a transaction. */
export type CallHandlers = { readonly [M in WriterMethod]: (...args: Takes<M>) => Gives<M> }

/** The answer to one call of a committed batch. */
export type CallAnswer<M extends WriterMethod = WriterMethod> =
  | { readonly ok: true; readonly value: Gives<M> }
  | { readonly ok: false; readonly message: string }

/** The answer to a batch; after a `fatal` failure nothing more is written until a restart. */
export type BatchAnswer =
  | { readonly ok: true; readonly answers: readonly CallAnswer[] }
  | {
      readonly ok: false
      readonly code: WebhookErrorCode
      readonly message: string
      readonly fatal: boolean
    }
