// Uses, as an application would, every import path that needs no peer. Many versions of TypeScript
// compile it.
import {
  createReceiver,
  createWorker,
  type Outcome,
  schemes,
  sign,
  type WebhookEvent,
} from 'idv-webhooks'
import type { CliRecord } from 'idv-webhooks/cli'
import { createClient } from 'idv-webhooks/client'
import { inboxConsole } from 'idv-webhooks/console'
import { toExpress } from 'idv-webhooks/express'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toLambda } from 'idv-webhooks/lambda'
import { toNext, toNextPages } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import { eventNames, strictEventSchemas } from 'idv-webhooks/protocol'
import { createSandbox } from 'idv-webhooks/sandbox'
import { fixture, recordHandlers, signedDelivery } from 'idv-webhooks/testing'
import { vendors } from 'idv-webhooks/vendors'

const inbox = createInbox({ store: sqliteStore('inbox.db') })
const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET, inbox })
receiver.on(
  'verification.approved',
  (event, { tx, delivery }) => {
    tx.prepare('insert into approved values (?, ?)').run(
      event.data.id,
      event.data.subjectName ?? null,
    )
    const body: Uint8Array = delivery.body
    // @ts-expect-error a misspelt field
    return [body, event.data.staus]
  },
  { tx: true },
)
// @ts-expect-error a misspelt name
receiver.on('verification.aproved', () => {})
const strict = createReceiver({ secret: 's', schemas: strictEventSchemas })
strict.on('verification.*', ({ data }) => {
  // @ts-expect-error a misspelt value
  return data.status === 'aproved'
})

recordHandlers(receiver)
  .waitFor('verification.approved')
  // @ts-expect-error a misspelt field
  .then(({ data }) => data.staus)

export const mounts = [
  ...[toExpress(receiver), toFetch(receiver), toLambda(receiver), toNode(receiver)],
  ...[toNext(receiver), toNextPages(receiver), createWorker(receiver)],
]
export const others = [
  ...[schemes.service(), vendors.onfido(), sign('{}', { secret: 's' }), eventNames, memoryStore()],
  ...[createClient, inboxConsole, fromPg, postgresStore, createSandbox, signedDelivery],
  fixture('client.created').data.nameFirst,
]
export type Types = [Outcome, WebhookEvent, CliRecord<'send'>]
