// Kysely and Drizzle on context.tx: what a handler writes through them commits with its checkpoint,
// and is undone with it.
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { createReceiver, createWorker } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, type PgClient, postgresStore } from 'idv-webhooks/inbox/postgres'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { freshSchema, poolOf } from './servers.ts'

interface Tables {
  readonly approvals: { readonly verification: string }
}

/** Kysely over the client of one transaction: its connection is not the pool's to give back. */
function kyselyOn(tx: PgClient, schema: string): Kysely<Tables> {
  const client = { query: tx.query, release: () => {} } as PostgresPoolClient
  const pool = { connect: async () => client, end: async () => {}, options: {} }
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema)
}

const approvals = pgTable('approvals', { verification: text().notNull() })

/** Drizzle over the same. */
const drizzleOn = (tx: PgClient) => drizzle({ client: tx as unknown as pg.Client })

const writes = {
  Kysely: async (tx: PgClient, verification: string, schema: string) => {
    await kyselyOn(tx, schema).insertInto('approvals').values({ verification }).execute()
    const rows = await kyselyOn(tx, schema).selectFrom('approvals').selectAll().execute()
    return rows.length
  },
  Drizzle: async (tx: PgClient, verification: string, schema: string) => {
    await tx.query(`set local search_path to ${schema}`)
    await drizzleOn(tx).insert(approvals).values({ verification })
    return (await drizzleOn(tx).select().from(approvals)).length
  },
} as const

test.each(Object.keys(writes) as (keyof typeof writes)[])(
  '%s on context.tx: effects of a failed attempt are undone, those of the next commit once',
  async (name) => {
    const schema = freshSchema()
    const store = postgresStore(fromPg(poolOf()), { schema, listen: false })
    const inbox = createInbox({ store, retry: { delays: [0] } })
    await inbox.open()
    onTestFinished(() => inbox.close())
    await poolOf().query(`create table ${schema}.approvals (verification text)`)
    const receiver = createReceiver({ secret: testSecret, inbox, observe: () => {} })
    const seen: number[] = []
    receiver.on(
      'verification.approved',
      async ({ data }, { attempt, tx }) => {
        seen.push(await writes[name](tx, data.id, schema))
        if (attempt === 1) throw new Error('after its effects')
      },
      { tx: true },
    )
    const event = fixture('verification.approved', { data: { id: 'ver_1' } })
    await receiver.receive(await signedDelivery(event, { secret: testSecret }))
    const worker = createWorker(receiver)
    const first = await worker.runOnce()
    expect(first.retry + first.done).toBeGreaterThan(0)
    await worker.runOnce()
    expect((await inbox.stats()).done).toBe(1)
    const { rows } = await poolOf().query(`select verification from ${schema}.approvals`)
    expect(rows).toEqual([{ verification: 'ver_1' }])
    // Each attempt saw its own row alone.
    expect(seen).toEqual([1, 1])
  },
)
