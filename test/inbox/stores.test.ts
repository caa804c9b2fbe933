import { DatabaseSync } from 'node:sqlite'
import type { InboxStore } from 'idv-webhooks/inbox'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describeInboxStore } from 'idv-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { type Flaw, sharedMemory } from './shared-memory.ts'
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

const handles = (make = sharedMemory()) => ({
  create: () => {
    make = sharedMemory()
    return make()
  },
  beside: () => make(),
})

describeInboxStore('shared memory', { ...handles(), runner })

const flaws: readonly (readonly [Flaw, string])[] = [
  ['owner', 'refuses the fence of another owner'],
  ['lapses', 'holds a lease for as long as its owner lives, and lets it lapse when that closes'],
  ['stays', 'holds a lease for as long as its owner lives, and lets it lapse when that closes'],
  ['wake', 'wakes every handle when an entry is kept or opened again beside it'],
  ['clock', 'has one clock for all its handles'],
  ['order', 'keeps the order of each handle in one lane, and passes no entry over'],
  ['key', 'stores one of many entries with one key that come through two handles at once'],
]

test.each(flaws)('the suite notices a shared store with the flaw %s', async (flaw, name) => {
  const cases = new Map<string, () => Promise<void>>()
  const make = { current: sharedMemory(flaw) }
  const create = () => {
    make.current = sharedMemory(flaw)
    return make.current()
  }
  const collector = {
    describe: (_: string, body: () => void) => body(),
    test: (one: string, body: () => Promise<void>) => void cases.set(one, body),
  }
  describeInboxStore('flawed', { create, beside: () => make.current(), runner: collector })
  await expect(cases.get(name)?.()).rejects.toThrow(/expected/)
})
