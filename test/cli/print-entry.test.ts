// Entries of a file that somebody else wrote: what its columns hold is text from outside.
import { expect, test } from 'vitest'
import type { Entry } from '../../src/inbox/entry.ts'
import { entryDetails, entryLine } from '../../tools/cli/commands/inbox/read.ts'
import { paintState } from '../../tools/cli/inbox/print-entry.ts'
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
  const line = entryLine(out, entry, [])
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
