// A sandbox, a receiver with an inbox that it sends to, and lives of verifications that go missing:
// what the tests of reconcile begin with.
import { createReceiver, createWorker, type SecretOption, type WebhookEvent } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox, type InboxStore, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, onTestFinished } from 'vitest'
import { type ApiClient, reconcile } from '../../src/client/index.ts'
import type { Sandbox } from '../../tools/sandbox/sandbox.ts'
import { temporaryFile } from '../inbox/temporary.ts'
import { clientOf, openSandbox, start, strike } from './service.ts'

export const input = { type: 'kyc', requirements: ['consent'] } as const
export const secret = 'a-secret-of-the-tests'
/** Secrets of which a run cannot know the tenants. */
export const lookedUp = () => secret

export interface Setup {
  readonly sandbox: Sandbox
  readonly api: ApiClient
  readonly inbox: ReturnType<typeof createInbox>
  readonly receiver: ReturnType<typeof createReceiver>
  readonly handled: WebhookEvent[]
}

/** A sandbox that sends to a receiver with an inbox, without a port. */
export async function open({
  seed = 7,
  store = memoryStore() as InboxStore,
  secrets = secret as SecretOption,
} = {}): Promise<Setup> {
  const inbox = createInbox({ store })
  const receiver = createReceiver({ secret: secrets, inbox })
  const handled: WebhookEvent[] = []
  receiver.on('*', (event) => handled.push(event))
  const sandbox = openSandbox({
    seed,
    now: start,
    fetch: toFetch(receiver),
    subscriptions: [{ url: 'http://app.test/webhooks', secret }],
  })
  return { sandbox, api: clientOf(sandbox, { limiter: false }), inbox, receiver, handled }
}

/** How many entries an inbox has. */
export async function kept(inbox: Setup['inbox']): Promise<number> {
  const { stored, leased, retry, done, dead, skipped } = await inbox.stats()
  return stored + leased + retry + done + dead + skipped
}

/** Handles everything that was kept. */
export async function work(receiver: Setup['receiver']): Promise<void> {
  const { retry, dead, skipped } = await createWorker(receiver).runOnce()
  expect({ retry, dead, skipped }).toEqual({ retry: 0, dead: 0, skipped: 0 })
}

export const drop = (sandbox: Sandbox, fault: object = {}) =>
  strike(sandbox, { kind: 'drop', ...fault })

export const told = (events: readonly WebhookEvent[]) =>
  events.map(({ name, entity }) => `${name} ${entity?.id}`).sort()

/** Lives of verifications and clients, time passing between their events. */
export async function live({ sandbox, api }: Setup, count: number): Promise<string[]> {
  const lives = [
    ['start', 'submit', 'approve'],
    ['start', 'submit', 'review', 'reject'],
    ['cancel'],
    ['start', 'expire'],
    ['start', 'submit'],
    [],
  ] as const
  const events: string[] = []
  const names = { submit: 'submitted', approve: 'approved', reject: 'rejected', cancel: 'canceled' }
  for (let at = 0; at < count; at++) {
    const { id } = await api.verifications.create(input)
    events.push(`verification.created ${id}`)
    for (const action of lives[at % lives.length] ?? []) {
      await sandbox.clock.advance({ seconds: 1 })
      await sandbox.act(id, action)
      const name = { ...names, expire: 'expired', start: '', review: '' }[action]
      if (name) events.push(`verification.${name} ${id}`)
    }
  }
  return events
}

export async function addClient(
  { sandbox, api }: Setup,
  { deleted = false } = {},
): Promise<string[]> {
  const { id } = await api.clients.create({ nameFirst: 'Ada' })
  if (!deleted) return [`client.created ${id}`]
  const url = `${sandbox.url}/_sandbox/clients/${id}`
  expect((await sandbox.fetch(new Request(url, { method: 'DELETE' }))).ok).toBe(true)
  return [`client.created ${id}`, `client.deleted ${id}`]
}

/** Loses a tenth of the deliveries of so many verifications; one run must make up for each. */
export async function losingATenth(verifications: number): Promise<void> {
  const setup = await open({ seed: 2026, store: sqliteStore(temporaryFile()) })
  onTestFinished(() => setup.inbox.close())
  const { sandbox, api, receiver, handled } = setup
  drop(sandbox, { probability: 0.1 })
  const events = await live(setup, verifications)
  await sandbox.flush()
  await work(receiver)
  const lost = events.length - handled.length
  expect(events.length).toBeGreaterThan(2 * verifications)
  expect(lost).toBeGreaterThan(0.15 * verifications)
  const run = () => reconcile({ client: api, receiver, since: start })
  expect((await run()).events).toMatchObject({ missing: lost, fed: lost })
  await work(receiver)
  expect(told(handled)).toEqual(events.sort())
  expect((await run()).events.missing).toBe(0)
}
