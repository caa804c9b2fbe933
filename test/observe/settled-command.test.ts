import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type InboxStore, memoryStore } from '../../src/inbox/index.ts'
import { sqliteStore } from '../../src/inbox/stores/sqlite/sqlite.ts'
import { NonRetryable } from '../../src/index.ts'
import { settledWarnings } from '../../src/observe/observers.ts'
import { event, setUp } from '../inbox/admin.ts'

/** The warning of a dead letter in this store. */
async function warningFor(store: InboxStore) {
  const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
  onTestFinished(() => warn.mockRestore())
  const { worker, receiver, deliver } = setUp({ store, receiver: { observe: undefined } })
  receiver.on('*', () => {
    throw new NonRetryable('no account')
  })
  await deliver(event())
  await worker.runOnce()
  const said = warn.mock.calls
    .map(([text]) => String(text))
    .find((text) => text.includes('dead letter'))
  return said?.replace(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}/, '<id>')
}

test('a dead letter in a file is one line with a command to paste', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'plain-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'inbox.db')
  expect(await warningFor(sqliteStore(file))).toBe(
    `dead letter verification.approved (NON_RETRYABLE): npx idv-webhooks inbox show <id> --inbox ${file}`,
  )
})

test('if the store has no file, the command line finds the inbox by its own settings', async () => {
  expect(await warningFor(memoryStore())).toMatch(/inbox show <id>$/)
})

test.each(["/it's a $HOME/inbox.db", 'postgres://u:secret@db/app', '/tmp/a\nb.db'])(
  'a place that a shell would read in another way is not printed: %j',
  (place) => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    onTestFinished(() => warn.mockRestore())
    const at = new Date(0)
    const seen = { type: 'settled', state: 'dead', entryId: 'e', attempt: 1, age: 0, at } as const
    settledWarnings()({ ...seen, reason: 'CRASHED' }, place)
    expect(warn.mock.calls[0]?.[0]).toBe('dead letter (CRASHED): npx idv-webhooks inbox show e')
  },
)

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
