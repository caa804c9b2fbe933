import { expect, test } from 'vitest'
import { brokenPromises, type History, type Line } from './faults/history.ts'

const line = (type: Line['type'], id: string, entity: string, more: Partial<Line> = {}): Line => ({
  type,
  pid: 1,
  id,
  entity,
  attempt: 1,
  key: `key of ${id}`,
  ...more,
})

const good: History = {
  sent: [
    { id: 'a', entity: 'x', status: undefined },
    { id: 'a', entity: 'x', status: 202 },
    { id: 'b', entity: 'x', status: 202 },
    { id: 'c', entity: 'y', status: 503 },
  ],
  lines: [
    { type: 'begin', pid: 1 },
    line('start', 'a', 'x'),
    { type: 'begin', pid: 2 },
    line('start', 'a', 'x', { attempt: 2 }),
    line('end', 'a', 'x'),
    line('start', 'b', 'x'),
    line('end', 'b', 'x'),
  ],
  rows: [
    { seq: 1, key: 'a', entity: 'x', state: 'done', tx: true },
    { seq: 2, key: 'b', entity: 'x', state: 'dead', tx: false },
  ],
  effects: ['a'],
}

test('a history that keeps every promise is found to', () => {
  expect(brokenPromises(good)).toEqual([])
})

const [first, second] = good.rows
const spoiled: readonly (readonly [string, Partial<History>, RegExp])[] = [
  ['lost', { rows: [second as never] }, /a was acknowledged and is not stored/],
  [
    'stored twice',
    { rows: [...good.rows, { ...(first as never as History['rows'][0]), seq: 3 }] },
    /a is stored twice/,
  ],
  [
    'left open',
    { rows: [{ ...(first as History['rows'][0]), state: 'retry' }, second as never] },
    /a is left retry/,
  ],
  [
    'overlapping',
    { lines: [line('start', 'a', 'x'), line('start', 'b', 'x')] },
    /b started while a/,
  ],
  [
    'out of order',
    {
      lines: [
        ...[line('start', 'b', 'x'), line('end', 'b', 'x')],
        ...[line('start', 'a', 'x'), line('end', 'a', 'x')],
      ],
    },
    /a started after b/,
  ],
  ['without its effect', { effects: [] }, /a is done with 0 effects/],
  ['with its effect twice', { effects: ['a', 'a'] }, /a is done with 2 effects/],
  [
    'with two idempotency keys',
    { lines: [...good.lines, line('start', 'a', 'x', { key: 'another' })] },
    /a has two idempotency keys/,
  ],
]

test.each(spoiled)('an event that was %s is found', (_what, change, told) => {
  expect(brokenPromises({ ...good, ...change }).join('\n')).toMatch(told)
})
