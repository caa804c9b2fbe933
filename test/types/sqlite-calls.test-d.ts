import { expectTypeOf, test } from 'vitest'
import type { CallAnswer, CallHandlers, WriterCall } from '../../src/inbox/stores/sqlite/calls.ts'
import type { SqliteStatement } from '../../src/inbox/stores/sqlite/driver.ts'
import type { WriteQueue } from '../../src/inbox/stores/sqlite/write-queue.ts'
import type { ClaimResult, NewEntry } from '../../src/inbox/work-store.ts'

declare const queue: WriteQueue
declare const statement: SqliteStatement<{ readonly seq: number }>
declare const entry: NewEntry
declare const handlers: CallHandlers

test('a call to the writer gives what its method gives', () => {
  expectTypeOf(queue.call('claim', [{ now: 0, limit: 1, until: 1 }])).toEqualTypeOf<
    Promise<ClaimResult>
  >()
  expectTypeOf<CallAnswer<'reopen'>>().toEqualTypeOf<
    { readonly ok: true; readonly value: number } | { readonly ok: false; readonly message: string }
  >()
})

test('a call with a wrong name or argument does not compile', () => {
  // @ts-expect-error an entry is no request of a claim
  queue.call('claim', [entry])
  // @ts-expect-error there is no such call
  queue.call('clam', [{ now: 0, limit: 1, until: 1 }])
  // @ts-expect-error the argument of another call
  const wrong: WriterCall = { method: 'insert', args: [0] }
  // @ts-expect-error what carries out the calls must carry out all of them
  const none: CallHandlers = { insert: handlers.insert }
  // @ts-expect-error and give what each of them gives
  const other: CallHandlers = { ...handlers, forget: () => 'one' }
  expectTypeOf([wrong, none, other]).toBeArray()
})

test('a statement gives the columns that it names', () => {
  expectTypeOf(statement.get()).toEqualTypeOf<{ readonly seq: number } | undefined>()
})
