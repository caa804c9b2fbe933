// The judge must bite: a good history passes, and each way of breaking it is found.
import { expect, test } from 'vitest'
import { type Happening, type History, judge, type LeftRow } from './history.ts'

const row = (seq: number, over: Partial<LeftRow> = {}): LeftRow => ({
  id: `id-${seq}`,
  seq,
  key: `k${seq}`,
  state: 'done',
  reason: null,
  ...over,
})

const run = (key: string, start: number, end: number, attempt = 1): Happening[] => [
  { type: 'start', key, entity: 'e', attempt, at: start },
  { type: 'end', key, entity: 'e', attempt, ok: true, at: end },
]

const fenced = (key: string, attempt: number): Happening[] => [
  { type: 'fenced', key, attempt, at: 4 },
]

const good: History = {
  happenings: [
    { type: 'boot', at: 0 },
    { type: 'commit', ids: ['id-1', 'id-2'], at: 1 },
    { type: 'answered', key: 'k1', status: 202, at: 2 },
    { type: 'answered', key: 'k2', status: 202, at: 2 },
    ...run('k1', 3, 4),
    ...run('k2', 5, 6),
  ],
  rows: [row(1), row(2)],
  effects: ['k1', 'k2'],
  counts: { done: 2, dead: 0 },
}

test('a history that keeps every promise is good', () => {
  expect(judge(good)).toEqual([])
})

test('a killed run ends with its process, and a fenced run ends there', () => {
  const [start] = run('k1', 3, 4)
  const before = good.happenings.slice(0, 4)
  const ends = [{ type: 'boot' }, { type: 'fenced', key: 'k1', attempt: 1 }] as const
  for (const end of ends) {
    const happenings = [
      ...before,
      start,
      { ...end, at: 4 },
      ...run('k1', 5, 6, 2),
      ...run('k2', 7, 8),
    ]
    expect(judge({ ...good, happenings: happenings as Happening[] })).toEqual([])
  }
})

test.each<[string, Partial<History>, RegExp]>([
  ['an acked event that is gone', { rows: [row(1)], counts: { done: 1 } }, /k2 .* is not stored/],
  [
    'a key that is stored twice',
    { rows: [row(1), row(2), row(3, { key: 'k2' })], counts: { done: 3 } },
    /k2 is stored 2 times/,
  ],
  [
    'an entry that never ends',
    {
      rows: [row(1), row(2, { state: 'leased' })],
      effects: ['k1'],
      counts: { done: 1, leased: 1 },
    },
    /k2 is left leased/,
  ],
  [
    'an answer before its commit',
    { happenings: [{ type: 'answered', key: 'k2', status: 200, at: 0.5 }, ...good.happenings] },
    /k2 was answered 2xx before its commit/,
  ],
  [
    'two attempts at once',
    { happenings: [...good.happenings.slice(0, 4), ...run('k1', 3, 9), ...run('k1', 5, 6, 2)] },
    /k1 \(2\) began before k1 \(1\) ended/,
  ],
  [
    'an overlap after another run was fenced',
    {
      happenings: [
        ...good.happenings.slice(0, 4),
        ...run('k1', 3, 9),
        ...fenced('other', 1),
        ...fenced('k1', 2),
        ...run('k2', 5, 6),
      ].sort((one, two) => one.at - two.at),
    },
    /k2 \(1\) began before k1 \(1\) ended/,
  ],
  [
    'two events of one entity at once',
    { happenings: [...good.happenings.slice(0, 4), ...run('k1', 3, 9), ...run('k2', 5, 6)] },
    /k2 \(1\) began before k1 \(1\) ended/,
  ],
  [
    'a later arrival that went first',
    { happenings: [...good.happenings.slice(0, 4), ...run('k2', 3, 4), ...run('k1', 5, 6)] },
    /k1 began after a later arrival of e/,
  ],
  ['an effect that is missing', { effects: ['k1'] }, /k2 is done and has 0 effects/],
  ['an effect that came twice', { effects: ['k1', 'k2', 'k2'] }, /k2 is done and has 2 effects/],
  ['a count that is wrong', { counts: { done: 1 } }, /1 entries are counted done, and 2 are there/],
])('%s is found', (_, change, message) => {
  expect(judge({ ...good, ...change })).toContainEqual(expect.stringMatching(message))
})
