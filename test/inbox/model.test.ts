import { DatabaseSync } from 'node:sqlite'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { test } from 'vitest'
import { sized } from '../tier.ts'
import { expectAlike } from './model.ts'
import { temporaryFolder } from './temporary.ts'

test('memory and SQLite answer alike, whatever is asked in whatever order', async () => {
  const folder = temporaryFolder()
  const driver = (file: string) => new DatabaseSync(file)
  let run = 0
  const create = () => sqliteStore(`${folder}/${++run}.db`, { driver })
  await expectAlike(create, Number(process.env.MODEL_RUNS ?? sized(10, 40)))
}, 120_000)
