import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type InboxStore, memoryStore } from '../../src/inbox/index.ts'
import { sqliteStore } from '../../src/inbox/stores/sqlite/sqlite.ts'
import { NonRetryable } from '../../src/index.ts'
import { settledWarnings } from '../../src/observe/observers.ts'
import { event, setUp } from '../inbox/admin.ts'

/** The arguments of `--inbox` in what is warned of a dead letter in this store, as a shell reads them. */
async function printedFor(store: InboxStore) {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warn.mockRestore())
  const { worker, receiver, deliver } = setUp({ store, receiver: { observe: undefined } })
  receiver.on('*', () => {
    throw new NonRetryable('no account')
  })
  await deliver(event())
  await worker.runOnce()
  const said = warn.mock.calls.map(String).find((text) => text.includes('is a dead letter'))
  return said?.match(/(?<=--inbox ).*?(?=;| runs)/g) ?? []
}

test('a dead letter in a file has commands to paste', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plain-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'inbox.db')
  expect(await printedFor(sqliteStore(file))).toEqual([file, file])
})

test('where the store has no file of its own, the command leaves a place for it', async () => {
  expect(await printedFor(memoryStore())).toEqual(Array(2).fill('<file or address>'))
})

test.each([
  ["/it's a $HOME/inbox.db", '<file or address>'],
  ['postgres://u:secret@db/app', '<file or address>'],
  ['/tmp/a\nb.db', '<file or address>'],
])('a place %j is printed as %s', (place, printed) => {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warn.mockRestore())
  const at = new Date(0)
  const seen = { type: 'settled', state: 'dead', entryId: 'e', attempt: 1, age: 0, at } as const
  settledWarnings()(seen, false, place)
  expect(warn.mock.calls.map(String).join()).toContain(`inbox show e --inbox ${printed};`)
})

test('an observer of the application gets the observation and nothing beside it', async () => {
  const observe = vi.fn()
  const { worker, receiver, deliver } = setUp({
    store: sqliteStore(':memory:'),
    receiver: { observe },
  })
  receiver.on('*', () => {})
  await deliver(event())
  await worker.runOnce()
  expect(observe.mock.calls.map((given) => given.length)).toContain(1)
  expect(observe.mock.calls.every((given) => given.length === 1)).toBe(true)
})
