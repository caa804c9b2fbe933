// The modes of an inbox's files, and links in their place.
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, test } from 'vitest'
import { newEntry } from '../../tools/conformance/store-cases.ts'
import { temporaryFolder } from './temporary.ts'

const isRoot = process.geteuid?.() === 0
const unsuitable = (message: string) =>
  expect.objectContaining({
    code: 'STORE_UNSUITABLE',
    message: expect.stringContaining(message),
  })

/** A folder, and a file elsewhere that every user may read. */
function folders() {
  const [folder, elsewhere] = [temporaryFolder(), temporaryFolder()]
  const target = join(elsewhere, 'passwd')
  writeFileSync(target, 'root:x:0:0')
  chmodSync(target, 0o644)
  const isUntouched = () =>
    (statSync(target).mode & 0o777) === 0o644 && readFileSync(target, 'utf8') === 'root:x:0:0'
  return { folder, file: join(folder, 'inbox.db'), target, isUntouched }
}

async function open(file: string): Promise<void> {
  const inbox = createInbox({ store: sqliteStore(file) })
  try {
    await inbox.open()
  } finally {
    await inbox.close()
  }
}

describe.skipIf(process.platform === 'win32')('the files of an inbox', () => {
  test.each(['-owner', '-wal', '-shm'])(
    'a link in place of its %s is not followed',
    async (end) => {
      const { file, target, isUntouched } = folders()
      symlinkSync(target, `${file}${end}`)
      await expect(open(file)).rejects.toEqual(unsuitable(`inbox.db${end} is not a file`))
      expect(isUntouched()).toBe(true)
      expect(existsSync(file)).toBe(false)
    },
  )

  test('a link in its own place that leads nowhere is refused', async () => {
    const { folder, file } = folders()
    symlinkSync(join(folder, 'other.db'), file)
    await expect(open(file)).rejects.toEqual(unsuitable('inbox.db is not a file'))
    expect(existsSync(join(folder, 'other.db'))).toBe(false)
  })

  test('a file that others could read is for its owner alone, also by a link of that owner', async () => {
    const { folder, file } = folders()
    await open(file)
    chmodSync(file, 0o644)
    const link = join(folder, 'link.db')
    symlinkSync(file, link)
    const store = sqliteStore(link)
    await store.open(() => {})
    await store.insert(newEntry())
    expect(statSync(file).mode & 0o777).toBe(0o600)
    await store.close()
  })

  test.runIf(isRoot)('root gives the lock that it creates to the user of the inbox', async () => {
    const { folder, file } = folders()
    await open(file)
    for (const one of [folder, file]) chownSync(one, 1234, 1234)
    // As after a restore of the file alone: the application must be able to open it later.
    rmSync(`${file}-owner`)
    await open(file)
    expect(statSync(`${file}-owner`).uid).toBe(1234)
  })
})
