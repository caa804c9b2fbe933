import { DatabaseSync } from 'node:sqlite'
import type { InboxStore } from 'idv-webhooks/inbox'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describeInboxStore } from 'idv-webhooks/testing'
import { describe, test } from 'vitest'
import { temporaryFile } from './temporary.ts'

const runner = { describe, test }

describeInboxStore('memory', { create: memoryStore, runner })

function onFiles(make: (file: string) => InboxStore) {
  let file = ''
  const create = () => {
    file = temporaryFile()
    return make(file)
  }
  return { create, reopen: () => make(file), runner }
}

describeInboxStore(
  'SQLite',
  onFiles((file) => sqliteStore(file)),
)

describeInboxStore(
  'SQLite on a driver of the application',
  onFiles((file) => sqliteStore(file, { driver: (path) => new DatabaseSync(path) })),
)

describeInboxStore('SQLite in memory', { create: () => sqliteStore(':memory:'), runner })
