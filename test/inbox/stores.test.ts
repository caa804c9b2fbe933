import { DatabaseSync } from 'node:sqlite'
import { describeInboxStore } from 'idv-webhooks/conformance'
import type { InboxStore } from 'idv-webhooks/inbox'
import { memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { describe, expect, test } from 'vitest'
import { isFull, someCases } from '../tier.ts'
import { type Flaw, sharedMemory } from './shared-memory.ts'
import { temporaryFile } from './temporary.ts'

const runner = { describe, test }

// The main engines run all their cases in `npm test`.
if (!isFull) describeInboxStore('memory', { create: memoryStore, runner })

function onFiles(make: (file: string) => InboxStore, runner = someCases()) {
  let file = ''
  const create = () => {
    file = temporaryFile()
    return make(file)
  }
  return { create, reopen: () => make(file), runner }
}

if (!isFull) {
  describeInboxStore(
    'SQLite',
    onFiles((file) => sqliteStore(file), runner),
  )
}

describeInboxStore(
  'SQLite on a driver of the application',
  onFiles((file) => sqliteStore(file, { driver: (path) => new DatabaseSync(path) })),
)

describeInboxStore('SQLite in memory', {
  create: () => sqliteStore(':memory:'),
  runner: someCases(),
})

const handles = (make = sharedMemory()) => ({
  create: () => {
    make = sharedMemory()
    return make()
  },
  beside: () => make(),
})

describeInboxStore('shared memory', { ...handles(), runner: someCases() })

const flaws: readonly (readonly [Flaw, string])[] = [
  ['owner', 'rejects the fence of another owner'],
  ['lapses', 'holds a lease for as long as its owner lives'],
  ['stays', 'holds a lease for as long as its owner lives'],
  ['wake', 'wakes every handle when another one stores or reopens an entry'],
  ['clock', 'uses one clock for all handles'],
  ['order', 'keeps the order of each handle in one lane and skips no entry'],
  ['key', 'stores one of many entries with one key through two handles'],
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
