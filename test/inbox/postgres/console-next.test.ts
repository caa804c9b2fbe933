// The console of the Next.js example over a real database: its route is called as Next.js calls it.
import { randomBytes } from 'node:crypto'
import { createReceiver } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import { signedDelivery } from 'idv-webhooks/testing'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { poolOf, servers } from './servers.ts'

const secret = 'a-secret-for-tests'

/** A database of its own: the example keeps its inbox in the schema that is the default. */
async function freshDatabase(): Promise<string> {
  const name = `next_${randomBytes(6).toString('hex')}`
  await poolOf().query(`create database ${name}`)
  const url = new URL(servers.pg18)
  url.pathname = `/${name}`
  return url.href
}

test('the console of the Next.js example shows and reveals what the inbox keeps', async () => {
  const connectionString = await freshDatabase()
  const pool = new pg.Pool({ connectionString, max: 4 })
  const inbox = createInbox({ store: postgresStore(fromPg(pool)) })
  onTestFinished(async () => {
    await inbox.close()
    await pool.end()
  })
  const receiver = createReceiver({ secret, inbox, observe: () => {} })
  const data = { id: '2f0c8f5e-0000-4000-8000-000000000001', subjectName: 'Ada' }
  const body = JSON.stringify({ id: 'evt_1', event: 'verification.approved', data })
  const kept = await receiver.receive(await signedDelivery(body, { secret }))
  expect(kept.kind).toBe('accepted')

  process.env.DATABASE_URL = connectionString
  // As built; in development it lets in this machine.
  vi.stubEnv('NODE_ENV', 'production')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { GET, POST } = await import('../../../examples/next/app/inbox/[[...path]]/route.ts')
  const ask = (path: string, headers: Record<string, string> = { 'x-forwarded-user': 'grace' }) =>
    new Request(`http://app.test/inbox${path}`, { headers })
  expect((await GET(ask('', {}))).status).toBe(403)
  const { items: entries } = await (await GET(ask('/api/entries'))).json()
  expect(entries).toMatchObject([{ name: 'verification.approved', eventId: 'evt_1' }])

  const page = await GET(ask(''))
  const html = (await page.text()).replaceAll('&quot;', '"')
  const change = (path: string) =>
    POST(
      new Request(`http://app.test/inbox/api/entries/${entries[0].id}${path}`, {
        method: 'POST',
        headers: {
          'x-forwarded-user': 'grace',
          cookie: page.headers.get('set-cookie')?.split(';')[0] ?? '',
          'x-console-token': /"token":"([\w-]+)"/.exec(html)?.[1] ?? '',
        },
      }),
    )
  const revealed = await (await change('/reveal')).json()
  expect(Buffer.from(revealed.body, 'base64').toString()).toBe(body)
})
