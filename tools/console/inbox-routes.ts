// Routes of the inbox's pages, as JSON. A payload leaves only by a reveal, which is recorded
// before anything of it is read.

import { defined } from '../../src/foundation/defined.ts'
import { decodeUtf8, parseJson } from '../../src/foundation/json.ts'
import type { Entry, EntryState } from '../../src/inbox/entry.ts'
import type { EntryFilter } from '../../src/inbox/entry-query.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import { dotted } from '../../src/redaction/redact.ts'
import { toBase64 } from '../../src/signature/encoding.ts'
import { capture } from '../../src/testing/capture.ts'
import { testSecret } from '../../src/testing/test-secret.ts'
import type { ActivityLog } from './activity.ts'
import { historyOf, type Span, spans } from './inbox-history.ts'
import { ConsoleRefusal } from './refusal.ts'

export interface RouteCall {
  readonly params: readonly string[]
  readonly query: URLSearchParams
  readonly body: Readonly<Record<string, unknown>>
  /** Who asks, where the app knows. */
  readonly by: string | undefined
}

export interface InboxRoute {
  readonly method: 'GET' | 'POST'
  readonly path: RegExp
  /** Whether it changes the inbox, and is refused while that is read-only. */
  readonly changes?: true
  readonly answer: (call: RouteCall) => unknown
}

export interface RouteDeps {
  readonly inbox: Inbox
  readonly activity: ActivityLog
  readonly now: () => Date
}

/** Every route of the inbox's console, below `/api`. */
export function inboxRoutes(deps: RouteDeps): readonly InboxRoute[] {
  return [...readRoutes(deps), ...revealRoutes(deps), ...changeRoutes(deps)]
}

function readRoutes({ inbox, activity, now }: RouteDeps): readonly InboxRoute[] {
  return [
    {
      method: 'GET',
      path: /^\/overview$/,
      async answer({ query }) {
        const asked = query.get('span') ?? '1h'
        const span: Span = Object.hasOwn(spans, asked) ? (asked as Span) : '1h'
        const [stats, history] = await Promise.all([inbox.stats(), historyOf(inbox, span, now())])
        return { stats, history, capabilities: inbox.capabilities, now: now().toISOString() }
      },
    },
    {
      method: 'GET',
      path: /^\/entries$/,
      answer: ({ query }) => inbox.find({ ...filterOf(query), ...pageOf(query) }),
    },
    {
      method: 'GET',
      path: /^\/entries\/([^/]+)$/,
      async answer({ params: [id = ''] }) {
        const { delivery, ...entry } = await found(inbox, id, true)
        const shape = delivery && shapeOf(delivery.body)
        const waitsFor = await entryBefore(inbox, entry)
        return { entry, waitsFor, shape, now: now().toISOString() }
      },
    },
    { method: 'GET', path: /^\/activity$/, answer: () => ({ data: activity.list() }) },
  ]
}

function revealRoutes({ inbox, activity }: RouteDeps): readonly InboxRoute[] {
  return [
    {
      method: 'POST',
      path: /^\/entries\/([^/]+)\/reveal$/,
      async answer({ params: [id = ''], by }) {
        await found(inbox, id)
        await activity.record({ action: 'reveal', what: id, ...(by !== undefined && { by }) })
        const { delivery } = await found(inbox, id, true)
        if (!delivery) throw erased()
        const { headers, body, url, receivedAt } = delivery
        return { headers, url, receivedAt, body: toBase64(body) }
      },
    },
    {
      // Redacted and signed again, so that it tells of nobody and still verifies.
      method: 'POST',
      path: /^\/entries\/([^/]+)\/capture$/,
      async answer({ params: [id = ''] }) {
        const { delivery } = await found(inbox, id, true)
        if (!delivery) throw erased()
        return { capture: await capture(delivery), secret: testSecret }
      },
    },
  ]
}

function changeRoutes({ inbox, activity }: RouteDeps): readonly InboxRoute[] {
  const change = (
    action: 'redrive' | 'replay' | 'dismiss',
    act: (id: string) => Promise<number | boolean>,
  ): InboxRoute => ({
    method: 'POST',
    path: new RegExp(`^/entries/([^/]+)/${action}$`),
    changes: true,
    async answer({ params: [id = ''], by }) {
      await found(inbox, id)
      const entries = Number(await act(id))
      if (entries === 0) {
        throw new ConsoleRefusal(409, 'NOT_POSSIBLE', `This entry cannot be ${past[action]} now`)
      }
      activity.note({ action, what: id, ...(by !== undefined && { by }) })
      return { entries }
    },
  })
  return [
    change('redrive', (id) => inbox.redrive(id)),
    change('replay', (id) => inbox.replay(id)),
    change('dismiss', (id) => inbox.dismiss(id)),
    {
      method: 'POST',
      path: /^\/redrive$/,
      changes: true,
      async answer({ body, by }) {
        const entries = await inbox.redrive(redriveFilterOf(body))
        activity.note({ action: 'redrive', what: `${entries} dead`, ...(by && { by }) })
        return { entries }
      },
    },
    {
      method: 'POST',
      path: /^\/forget$/,
      changes: true,
      async answer({ body: { entity, tenant }, by }) {
        if (typeof entity !== 'string') {
          throw new ConsoleRefusal(
            400,
            'BAD_REQUEST',
            'The body must name the entity to forget: { entity }',
          )
        }
        // Null: of none. Left out: of every tenant.
        const of = tenant === undefined ? {} : { tenant: tenant as string | null }
        const entries = await inbox.forget(entity, of)
        activity.note({ action: 'forget', what: entity, ...(by !== undefined && { by }) })
        return { entries }
      },
    },
  ]
}

/** Nothing may be left out: a body that a parser has changed would mean all of them. */
function redriveFilterOf(body: RouteCall['body']): EntryFilter {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(body)) {
    if (!filters.includes(name) || typeof value !== 'string') throw unsaid()
    query.set(name, value)
  }
  if (body.state !== 'dead') throw unsaid()
  return filterOf(query)
}

function unsaid(): ConsoleRefusal {
  const message = `The body must say what to redrive: { "state": "dead" }, and of ${filters.join(', ')} only texts`
  return new ConsoleRefusal(400, 'BAD_REQUEST', message)
}

const past = { redrive: 'redriven', replay: 'replayed', dismiss: 'dismissed' } as const

async function found(inbox: Inbox, id: string, withDelivery = false): Promise<Entry> {
  const entry = await inbox.get(id, { withDelivery })
  if (entry) return entry
  throw new ConsoleRefusal(404, 'NOT_FOUND', 'No entry has this id; it may have been erased')
}

/** The entry that a stored one waits for: of the same entity, running or about to be retried. */
async function entryBefore(inbox: Inbox, entry: Entry) {
  const { state, entity, tenant } = entry
  if (state !== 'stored' || !entity?.id) return undefined
  const { entries } = await inbox.find({
    entity,
    ...defined({ tenant }),
    state: ['leased', 'retry'],
  })
  const before = entries.find(
    (one) =>
      one.entity?.id === entity.id &&
      one.entity.type === entity.type &&
      one.tenant === tenant &&
      // A redriven entry may stand before it.
      one.receivedAt <= entry.receivedAt,
  )
  return before && { id: before.id, dueAt: before.dueAt }
}

function erased(): ConsoleRefusal {
  return new ConsoleRefusal(410, 'ERASED', 'The payload of this entry was erased')
}

const filters: readonly string[] = ['state', 'name', 'entity', 'tenant', 'since', 'search']

function filterOf(query: URLSearchParams): EntryFilter {
  const given = (name: string) => query.get(name)?.trim() || undefined
  const state = given('state')?.split(',') as readonly EntryState[] | undefined
  const pairs = filters.map((name) => [name, name === 'state' ? state : given(name)] as const)
  return Object.fromEntries(pairs.filter(([, value]) => value !== undefined))
}

function pageOf(query: URLSearchParams) {
  const limit = Number(query.get('limit') ?? 100)
  const cursor = query.get('cursor')
  return { limit, ...(cursor !== null && { cursor }) }
}

/** Keys and harmless values of a JSON body; of any other only its size. */
/** Bytes of a body whose shape is shown: a page that is open asks for it once a second. */
const mostShown = 262_144

function shapeOf(body: Uint8Array): unknown {
  if (body.length > mostShown) return `${body.length} bytes, too many to be shown masked`
  const text = decodeUtf8(body)
  const json = text === undefined ? undefined : parseJson(text)
  return json ? dotted(json.value, 'body') : `${body.length} bytes that are not JSON`
}
