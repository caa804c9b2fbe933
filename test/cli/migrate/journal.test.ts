// The journal of a migration of subscriptions loses no pair where the process dies.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openJournal, type Pair } from '../../../tools/cli/migrate/subscriptions/journal.ts'
import { findRestored } from '../../../tools/cli/migrate/subscriptions/roll-back.ts'

const old = { id: 'sub_1', url: 'https://app.test/', events: ['request.created'], active: true }

test('a pair is put in the place of another in one write', () => {
  const folder = mkdtempSync(join(tmpdir(), 'idv-journal-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'journal.json')
  const journal = openJournal(file, 'service')
  journal.set({ old, replacement: 'new_1' })
  journal.set({ old: { ...old, id: 'sub_2' }, replacement: 'new_1' }, 'sub_1')
  expect(JSON.parse(readFileSync(file, 'utf8')).pairs).toEqual([
    { old: { ...old, id: 'sub_2' }, replacement: 'new_1' },
  ])
  // Its addresses may have a password.
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
})

test('what was restored is noted without a moment in which its pair is nowhere', () => {
  const pair: Pair = { old, replacement: 'new_1', restoring: ['new_1'] }
  const journal = { pairs: [pair], set: vi.fn(), delete: vi.fn() }
  const secrets = { for: () => ({ origin: 'kept' }) }
  const listed = [
    { ...old, id: 'new_1', events: ['verification.created'] },
    { ...old, id: 'sub_2' },
  ]
  const deps = { journal, secrets } as unknown as Parameters<typeof findRestored>[0]
  const steps = [...findRestored(deps, listed)]
  expect(steps).toMatchObject([{ id: 'sub_1', did: 'restored', replacement: 'sub_2' }])
  const restored = { old: { ...old, id: 'sub_2' }, replacement: 'new_1', alone: true }
  expect(journal.set.mock.calls).toEqual([[restored, 'sub_1']])
  expect(journal.delete).not.toHaveBeenCalled()
})
