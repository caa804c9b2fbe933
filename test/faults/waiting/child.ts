// One process of the campaign: the application with its worker, or a process that only waits. The
// latter begins each wait once, writes its `since` down, and repeats it with that after a restart.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver, createWorker, type Observation, type WebhookEvent } from 'idv-webhooks'
import { createInbox, type InboxStore } from 'idv-webhooks/inbox'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'
import pg from 'pg'

export interface WaitingChild {
  readonly role: 'worker' | 'waiter'
  /** The file of SQLite, or the address of Postgres. */
  readonly place: string
  readonly log: string
  readonly secret: string
  /** The waits of the campaign, and the most at a time. */
  readonly waits: number
  readonly atOnce: number
}

/** A line of the log: a wait began, its event was settled, and how a wait ended. */
export type WaitingLine =
  | { readonly began: number; readonly since: number }
  | { readonly settled: number; readonly at: number }
  | { readonly timedOut: number; readonly at: number }
  | {
      readonly got: number
      readonly name: string | undefined
      readonly entity: string | undefined
      /** When it ended, and when this process began it. */
      readonly at: number
      readonly from: number
    }

const child: WaitingChild = JSON.parse(process.argv[2] ?? '{}')
const { role, place, log, secret, waits, atOnce } = child

function storeOf(): InboxStore {
  if (!place.startsWith('postgres:')) {
    return sqliteStore(place, role === 'waiter' ? { mode: 'operator' } : { check: 'quick' })
  }
  return postgresStore(fromPg(new pg.Pool({ connectionString: place, max: 4 })))
}

const inbox = createInbox({ store: storeOf(), lease: 9_000 })
const write = (line: WaitingLine) => appendFileSync(log, `${JSON.stringify(line)}\n`)

async function work(): Promise<void> {
  const ids = new Map<string, string>()
  const observe = (seen: Observation) => {
    if (seen.type === 'attempt') ids.set(seen.entryId ?? '', seen.eventId ?? '')
    if (seen.type !== 'settled' || seen.name !== 'verification.approved') return
    const settled = Number(ids.get(seen.entryId)?.split(' ')[1])
    if (seen.state === 'done') write({ settled, at: Date.now() })
  }
  const receiver = createReceiver({ secret, inbox, observe })
  receiver.on('verification.*', () => {})
  await createWorker(receiver, { concurrency: 32 }).start()
  const server = http.createServer(toNode(receiver))
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port))
}

async function wait(): Promise<void> {
  const lines = existsSync(log) ? readFileSync(log, 'utf8').split('\n') : []
  const sinces = new Map<number, number>()
  const over = new Set<number>()
  for (const text of lines.filter((one) => one.endsWith('}'))) {
    const line: WaitingLine = JSON.parse(text)
    if ('began' in line) sinces.set(line.began, line.since)
    else if ('got' in line) over.add(line.got)
  }
  let next = 0
  const one = async () => {
    while (next < waits) {
      const id = next++
      if (over.has(id)) continue
      const from = Date.now()
      const since = sinces.get(id) ?? from
      if (!sinces.has(id)) write({ began: id, since })
      const options = { since: new Date(since), timeout: 20_000 }
      const again = async (): Promise<WebhookEvent> => {
        try {
          const event = await inbox.waitFor(`verification:ver_${id}`, options)
          if (event) return event
          write({ timedOut: id, at: Date.now() })
        } catch {
          // The store did not answer: asked again.
        }
        return again()
      }
      const event = await again()
      write({ got: id, name: event.name, entity: event.entity?.id, at: Date.now(), from })
    }
  }
  await inbox.open()
  process.send?.(0)
  await Promise.all(Array.from({ length: atOnce }, one))
  process.exit(0)
}

await (role === 'worker' ? work() : wait())
