// Runs of reconcile whose clock differs from the service's.
import { createReceiver } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { expect, test } from 'vitest'
import { reconcile, type Watermark } from '../../src/client/index.ts'
import { open, secret, work } from './reconciling.ts'

const minute = 60_000
const week = 7 * 24 * 60 * minute
/** When the first record expires, by the service's clock. */
const expired = Date.parse('2026-03-01T12:00:00Z')
const iso = (at: number) => new Date(at).toISOString()

interface Expiry {
  /** Minutes from the expiry to its date: an operator can expire a verification early. */
  readonly early: number
  /** Whether it touches `updatedAt`. */
  readonly touches: boolean
  /** Minutes until another record is made. */
  readonly next: number
}

/** The newest first, by the service's clock. */
function recordsAt(now: number, { early, touches, next }: Expiry) {
  const [isExpired, begin, made] = [now >= expired, expired - week, expired + next * minute]
  const updated = isExpired && touches ? expired : begin
  const one = {
    ...{ id: 'v1', status: isExpired ? 'expired' : 'initiated', createdAt: iso(begin) },
    ...{ updatedAt: iso(updated), expiresAt: iso(expired + early * minute) },
  }
  const two = { id: 'v2', status: 'initiated', createdAt: iso(made), updatedAt: iso(made) }
  return now >= made ? [{ ...two, expiresAt: iso(made + week) }, one] : [one]
}

interface Runs extends Expiry {
  /** Days for which the inbox knows an event. */
  readonly keys?: number
  /** How long they go on, in minutes. */
  readonly during?: number
}

/** A run in each quarter of an hour: how often each event was missing. */
async function reconciled(ahead: number, { keys = 30, during = 480, ...expiry }: Runs) {
  const { api } = await open()
  let service = expired - 120 * minute
  const now = () => new Date(service + ahead * minute)
  const retention = { keys, done: Math.min(keys, 1), dead: Math.min(keys, 1) }
  const inbox = createInbox({ store: memoryStore(), now, retention })
  const receiver = createReceiver({ secret, inbox, now }).on('*', () => {})
  const iterate = ({ status }: { readonly status?: string } = {}) => ({
    async *pages() {
      yield { data: recordsAt(service, expiry).filter((one) => !status || one.status === status) }
    },
  })
  const client = { ...api, verifications: { ...api.verifications, iterate } } as never
  let watermark: Watermark | undefined
  const store = {
    read: () => watermark,
    write: (one: Watermark) => {
      watermark = one
    },
  }
  const missing: Record<string, number> = {}
  const since = iso(expired - 240 * minute)
  for (; service < expired + during * minute; service += 15 * minute) {
    const report = await reconcile({ client, receiver, since, watermark: store, now })
    expect(report.complete).toBe(true)
    for (const [name, count] of Object.entries(report.gap.byName)) {
      missing[name] = (missing[name] ?? 0) + count
    }
    await work(receiver)
    await inbox.purge()
  }
  return missing
}

const found = { 'verification.created': 1, 'verification.expired': 1 }

test.each([-90, -45, -30, 0, 30, 180])(
  'an expiry without a mark, and what follows, is found once by a clock %d minutes ahead',
  async (ahead) => {
    expect(await reconciled(ahead, { early: 0, touches: false, next: 2 })).toEqual(found)
  },
)

test.each([-60, 0, 60])(
  'what follows an early expiry is found once by a clock %d minutes ahead',
  async (ahead) => {
    expect(await reconciled(ahead, { early: 150, touches: true, next: 30 })).toEqual(found)
  },
)

test.each([0.1, 0.25, 0.5, 1, 2])(
  'an expiry without a mark is found once by an inbox that knows it for %d days',
  async (keys) => {
    const quiet = { early: 0, touches: false, next: 10_000, keys, during: 30 * 60 }
    expect(await reconciled(0, quiet)).toEqual({ 'verification.expired': 1 })
  },
)
