// The tools of the Postgres figures: entries and deliveries of 2 KB, rates, medians, and stores in
// their own schemas.
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { digest, eventName, headersOf } from './deliveries.ts'

const body = new Uint8Array(2_048).fill(120)
const metadata = new Uint8Array(300)
let made = 0
export const entry = (lanes: number) => {
  const id = `bench-${++made}`
  const lane = `lane-${made % lanes}`
  const keyed = { id, lane, key: id, digest: id, storedAt: Date.now() }
  return { ...keyed, source: 'webhook', bytes: body.length, metadata, body } as const
}

export function delivery(entities: number) {
  const id = `evt_${++made}`
  const data = { id: `ver_${made % entities}`, status: 'approved', subjectName: 'x'.repeat(1_850) }
  const bytes = Buffer.from(JSON.stringify({ id, event: eventName, data }))
  return { body: bytes, headers: headersOf(bytes, digest(bytes)) }
}

/** So many calls of `work` at a time for some seconds; calls a second. */
export async function rate(
  together: number,
  seconds: number,
  work: (at: number) => Promise<unknown>,
) {
  const end = performance.now() + seconds * 1_000
  let count = 0
  await Promise.all(
    Array.from({ length: together }, async (_, at) => {
      while (performance.now() < end) {
        await work(at)
        count++
      }
    }),
  )
  return count / seconds
}

export const median = (list: readonly number[]) =>
  list.toSorted((one, other) => one - other)[Math.floor(list.length / 2)] ?? Number.NaN

/** A store in a schema of its own, and its pool. */
export async function opened(server: { readonly url: string }, schema: string, wake = () => {}) {
  const pool = new pg.Pool({ connectionString: server.url, max: 12 })
  const store = postgresStore(fromPg(pool), { schema, timeout: 60_000 })
  await store.open(wake)
  const close = async () => {
    await store.close()
    await pool.end()
  }
  return { store, close }
}
