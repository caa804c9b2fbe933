// Entries of a file that another program wrote: the text in its columns is untrusted.
import { expect, test } from 'vitest'
import type { Entry } from '../../src/inbox/entry.ts'
import { entryDetails, entryTable, paintState } from '../../tools/cli/inbox/print-entry.ts'
import { createOutput } from '../../tools/cli/output.ts'

const evil = '\u001b[31m\u0007\n'
const shown = '\\u001b[31m\\u0007\\u000a'
const { stdout, stderr } = process
const out = createOutput({ stdout, stderr, json: false, color: true })

const entry = {
  id: `1${evil}`,
  state: `2${evil}` as Entry['state'],
  name: `3${evil}`,
  reason: `4${evil}` as NonNullable<Entry['reason']>,
  entity: { type: 'client', id: `5${evil}` },
  source: 'webhook',
  receivedAt: new Date(0),
  attempts: 1,
  generation: 0,
  bytes: 1,
  failures: [],
  handled: [],
  erased: false,
} satisfies Entry

test('the line of an entry cannot steer the terminal', () => {
  const line = entryTable(out, [{ entry }], { width: 500 }).join('')
  for (const at of [1, 2, 3, 4, 5]) expect(line).toContain(`${at}${shown}`)
  expect(line).not.toContain(evil)
})

test('nor can its state and reason among the details, and a state that is unknown has a color', () => {
  const state = entryDetails(out, entry, undefined).find(([label]) => label === 'state')?.[1]
  expect(state).toContain(`2${shown}`)
  expect(state).toContain(`, 4${shown}`)
  expect(state).not.toContain(evil)
  expect(paintState(out, 'unknown' as Entry['state'])).toContain('unknown')
})

const listed = ['01a222bf-1bef-7000-a', '01a222bf-1bef-7000-b', '01a222bf-1bf0-7000-c'].map(
  (id, at) => ({
    entry: {
      ...entry,
      id: `${id}000-000000000000`,
      state: 'dead' as const,
      name: 'verification.approved',
      reason: 'CRASHED' as const,
      entity: { type: 'verification' as const, id: 'ver_0123456789' },
      attempts: at + 1,
    },
  }),
)

test('a table has heads, fits the width, and cuts ids while they are unique', () => {
  const table = entryTable(createOutput({ stdout, stderr, json: false, color: false }), listed, {
    width: 80,
  })
  expect(table).toEqual([
    'ID                    STATE  RECEIVED     EVENT                  NOTE',
    '01a222bf-1bef-7000-a  dead   01-01 00:00  verification.approved  attempt 1 cras…',
    '01a222bf-1bef-7000-b  dead   01-01 00:00  verification.approved  attempt 2 cras…',
    '01a222bf-1bf0-7000-c  dead   01-01 00:00  verification.approved  attempt 3 cras…',
  ])
  const wide = entryTable(createOutput({ stdout, stderr, json: false, color: false }), listed, {
    width: 200,
  })
  expect(wide[2]).toMatch(/b000-000000000000 .* attempt 2 crashed, 2 attempts {2}ver/)
})
