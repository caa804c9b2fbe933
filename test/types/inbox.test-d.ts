import { createReceiver, type Receiver } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { createInbox, type Inbox, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { type SqliteTransaction, sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { recordHandlers } from 'idv-webhooks/testing'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'

const secret = 's'

test('context.tx is what the store of the inbox hands out', () => {
  const inbox = createInbox({ store: sqliteStore('inbox.db') })
  expectTypeOf(inbox).toEqualTypeOf<Inbox<SqliteTransaction>>()
  const receiver = createReceiver({ secret, inbox })
  receiver.on('verification.approved', (event, { tx }) => {
    expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>()
    expectTypeOf(event.name).toEqualTypeOf<'verification.approved'>()
    tx.prepare('insert into approvals values (?)').run(event.data.id)
  })
  receiver.on(['client.created', 'client.updated'], (_, { tx }) => tx.exec('select 1'))
  receiver.fallback((_, { tx }) => tx.exec('select 1'))
  toExpress(receiver)
  recordHandlers(receiver)
  expectTypeOf(receiver).toExtend<Receiver>()
})

test('with schemas of your own too', () => {
  const receiver = createReceiver({
    secret,
    inbox: createInbox({ store: sqliteStore('inbox.db') }),
    schemas: { 'matter.closed': z.object({ matter: z.string() }) },
  })
  receiver.on('matter.closed', ({ data }, { tx }) => {
    expectTypeOf(data.matter).toEqualTypeOf<string>()
    expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>()
  })
})

test('a store without transactions gives none, and neither does a receiver without an inbox', () => {
  const inbox = createInbox({ store: memoryStore() })
  for (const receiver of [createReceiver({ secret, inbox }), createReceiver({ secret })]) {
    receiver.on('*', (_, { tx }) => {
      expectTypeOf(tx).toEqualTypeOf<undefined>()
    })
  }
})

test('a store that is chosen at run time may have none', () => {
  const store = Math.random() > 0.5 ? sqliteStore('inbox.db') : memoryStore()
  createReceiver({ secret, inbox: createInbox({ store }) }).on('*', (_, { tx }) => {
    expectTypeOf(tx).toEqualTypeOf<SqliteTransaction | undefined>()
  })
})

test('a store that says nothing leaves it to the handler', () => {
  const store: InboxStore = memoryStore()
  const inbox: Inbox = createInbox({ store })
  createReceiver({ secret, inbox }).on('*', (_, { tx }) => {
    expectTypeOf(tx).toEqualTypeOf<unknown>()
  })
})
