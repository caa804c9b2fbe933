// A secret, an address with a password or a body in the wrong place is refused without being quoted:
// such messages end in logs.
import { createReceiver, createWorker, parse, sign, verify } from 'idv-webhooks'
import { createClient } from 'idv-webhooks/client'
import { inboxConsole } from 'idv-webhooks/console'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { fromPg, fromPostgresJs, postgresStore } from 'idv-webhooks/inbox/postgres'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { jwks } from 'idv-webhooks/keys'
import { toLambda } from 'idv-webhooks/lambda'
import { toNext } from 'idv-webhooks/next'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { capture, replay, signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const canary = 'zephyrine'
const receiver = () => createReceiver({ secret: 'a-secret-of-the-test' })
const inbox = () => createInbox({ store: memoryStore() })
const address = `postgres://app:${canary}@db.example/app`

/** A call of each door with text where an object belongs. */
const calls: Readonly<Record<string, (text: never) => unknown>> = {
  createReceiver: (text) => createReceiver(text),
  'createReceiver inbox': (text) => createReceiver({ secret: 's-e-c-r-e-t', inbox: text }),
  'createReceiver client': (text) => createReceiver({ secret: 's-e-c-r-e-t', client: text }),
  createWorker: (text) => createWorker(text),
  'createWorker options': (text) => createWorker(receiver(), text),
  'verify delivery': (text) => verify(text, { secret: 's-e-c-r-e-t' }),
  'verify body': (text) => verify({ body: text, headers: {} }, { secret: 's-e-c-r-e-t' }),
  'verify options': (text) => verify({ body: new Uint8Array(), headers: {} }, text),
  'sign options': (text) => sign('{}', text),
  parse: (text) => parse(text),
  receive: (text) => receiver().receive(text),
  jwks: (text) => jwks(text, { algorithms: ['es256'] }),
  createInbox: (text) => createInbox(text),
  'createInbox store': (text) => createInbox({ store: text }),
  'createInbox encryption': (text) => createInbox({ store: memoryStore(), encryption: text }),
  'createInbox key': (text) => createInbox({ store: memoryStore(), encryption: { key: text } }),
  postgresStore: (text) => postgresStore(text),
  fromPg: (text) => fromPg(text),
  fromPostgresJs: (text) => fromPostgresJs(text),
  'sqliteStore options': (text) => sqliteStore('x.db', text),
  createClient: (text) => createClient(text),
  'createClient baseUrl': (text) => createClient({ baseUrl: text, apiKey: 'k' }),
  toExpress: (text) => toExpress(text),
  toFastify: (text) => toFastify(text),
  toFetch: (text) => toFetch(text),
  'toFetch options': (text) => toFetch(receiver(), text),
  toLambda: (text) => toLambda(text),
  toNext: (text) => toNext(text),
  toNode: (text) => toNode(text),
  inboxConsole: (text) => inboxConsole(text, text),
  'inboxConsole options': (text) => inboxConsole(inbox(), text),
  createSandbox: (text) => createSandbox(text),
  'signedDelivery options': (text) => signedDelivery({}, text),
  capture: (text) => capture(text),
  replay: (text) => replay(text, []),
  'replay captures': (text) => replay(receiver(), text),
}

test.each(Object.keys(calls))(
  '%s quotes no text that was passed in the wrong place',
  async (name) => {
    for (const text of [
      canary,
      address,
      `https://u:${canary}@h.example/`,
      `{"name":"${canary}"}`,
    ]) {
      const said: unknown = await (async () => calls[name]?.(text as never))().then(
        () => '',
        (error: unknown) => error,
      )
      const { message = '', stack = '' } = said as Partial<Error>
      expect(`${message}${stack}`).not.toContain(canary)
    }
  },
)
