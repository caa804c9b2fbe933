import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../inbox/temporary.ts'

const cli = join(import.meta.dirname, '../../dist/cli.js')

test('inbox move names the tables that context.tx wrote, which it leaves behind', async () => {
  const cwd = temporaryFolder()
  const inbox = createInbox({ store: sqliteStore(join(cwd, 'inbox.db')) })
  await inbox.open()
  await inbox.close()
  const move = async (flag: string, more: readonly string[] = []) => {
    const args = [cli, 'inbox', 'move', 'inbox.db', 'other.db', flag, ...more]
    return promisify(execFile)(process.execPath, args, { cwd })
  }
  expect((await move('--dry-run')).stderr).not.toContain('not moved')
  const own = new DatabaseSync(join(cwd, 'inbox.db'))
  own.exec('create table cards (id text); create table approvals (id text)')
  own.close()
  expect((await move('--dry-run')).stderr).toContain('not moved: your own tables approvals, cards')
  const { stdout } = await move('--yes', ['--json'])
  const moved = JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
  expect(moved).toMatchObject({ state: 'moved', left: ['approvals', 'cards'] })
})
