import type { CliRecord } from 'idv-webhooks/cli'
import { expectTypeOf, test } from 'vitest'
import type { Output } from '../../tools/cli/output.ts'

test('a line narrows by its type, and its dates are text', () => {
  expectTypeOf<Extract<CliRecord<'send'>, { type: 'sent' }>['status']>().toEqualTypeOf<number>()
  expectTypeOf<
    Extract<CliRecord<'inbox list'>, { type: 'entry' }>['receivedAt']
  >().toEqualTypeOf<string>()
  expectTypeOf<CliRecord<'verify'>>().not.toEqualTypeOf<CliRecord<'send'>>()
})

test('a command cannot print a line of another shape', () => {
  const out = {} as Output
  const sent = { sent: 1, taken: 1, refused: 0, failed: 0 }
  expectTypeOf(out.record).toBeCallableWith({ type: 'summary', wanted: 1, ...sent })
  // @ts-expect-error -- a summary has no such field
  out.record({ type: 'summary', wanted: 1, ...sent, more: 1 })
  // @ts-expect-error -- no command prints this type
  out.record({ type: 'sumary', wanted: 1, ...sent })
  // @ts-expect-error -- a number, not text
  out.record({ type: 'summary', wanted: '1', ...sent })
})
