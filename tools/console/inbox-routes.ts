// Routes of the inbox's pages, as JSON. A payload leaves only by a reveal, which is recorded
// before anything of it is read.
import { Hono } from 'hono'
import { defined } from '../../src/foundation/defined.ts'
import { decodeUtf8, parseJson } from '../../src/foundation/json.ts'
import { warnIfItThrows } from '../../src/foundation/warn.ts'
import type { HandlerLatency } from '../../src/inbox/admin.ts'
import type { Entry, EntryState } from '../../src/inbox/entry.ts'
import type { EntryFilter } from '../../src/inbox/entry-query.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import { dotted } from '../../src/redaction/redact.ts'
import { toBase64 } from '../../src/signature/encoding.ts'
import { testSecret } from '../../src/signature/secrets.ts'
import { capture } from '../../src/testing/capture.ts'
import { ConsoleRefusal } from './access.ts'

export interface ConsoleEnv {
  readonly Bindings: {
    readonly base: string
    /** True if the address of the request is known, and was checked. */
    readonly hasAddress?: boolean
    readonly isServing: () => boolean
  }
  readonly Variables: { by: string | undefined; body: Readonly<Record<string, unknown>> }
}

interface RouteDeps {
  readonly inbox: Inbox
  readonly activity: ActivityLog
  readonly now: () => Date
  readonly readOnly: boolean
}

export function inboxRoutes(deps: RouteDeps): Hono<ConsoleEnv> {
  const app = new Hono<ConsoleEnv>()
  addReads(app, deps)
  addReveals(app, deps)
  addChanges(app, deps)
  return app
}

function addReads(app: Hono<ConsoleEnv>, { inbox, activity, now }: RouteDeps): void {
  app.get('/overview', async (context) => {
    const asked = context.req.query('span') ?? '1h'
    const span: Span = Object.hasOwn(spans, asked) ? (asked as Span) : '1h'
    const since = new Date(now().getTime() - spans[span])
    const stats = await inbox.stats({ target: targetMs, since })
    const latencies = stats.latency?.handlers ?? []
    const history = await historyOf(inbox, span, { now: now(), latencies })
    const { entries: failing } = await inbox.find({ state: ['dead', 'retry'], limit: 8 })
    return Response.json({ stats, history, failing, now: now().toISOString() })
  })
  app.get('/entries', async ({ req }) => Response.json(await entriesFor(inbox, req.query())))
  app.get('/entries/:id', async ({ req }) => {
    const { delivery, ...entry } = await found(inbox, req.param('id'), true)
    const shape = delivery && shapeOf(delivery.body)
    const waitsFor = await entryBefore(inbox, entry)
    return Response.json({ entry, waitsFor, shape, now: now().toISOString() })
  })
  app.get('/activity', () => Response.json({ data: activity.list() }))
}

/** Latencies are read with a target; the console shows only their percentiles. */
const targetMs = 1000

/** The newest entries that fit; the store does not filter by reason and handler. */
function entriesFor(inbox: Inbox, query: QueryValues) {
  const { limit = '100', reason, handler } = query
  const fits = ({ reason: own, failures, handled }: Entry) =>
    (!reason || own === reason) &&
    (!handler || handled.includes(handler) || failures.some((one) => one.handler === handler))
  const options = { count: Number(limit), ...((reason || handler) && { fits }) }
  return readEntries(inbox, filterOf(query), options)
}

function addReveals(app: Hono<ConsoleEnv>, { inbox, activity }: RouteDeps): void {
  app.post('/entries/:id/reveal', async ({ req, var: { by } }) => {
    const id = req.param('id')
    await found(inbox, id)
    await activity.record({ action: 'reveal', what: id, by })
    const { headers, body, url, receivedAt } = await deliveryOf(inbox, id)
    return Response.json({ headers, url, receivedAt, body: toBase64(body) })
  })
  // Redacted and signed again, so a person is not revealed.
  app.post('/entries/:id/capture', async ({ req }) => {
    const made = await capture(await deliveryOf(inbox, req.param('id')))
    return Response.json({ capture: made, secret: testSecret })
  })
}

function addChanges(app: Hono<ConsoleEnv>, { inbox, activity, readOnly }: RouteDeps): void {
  app.use(async (_, next) => {
    if (!readOnly) return next()
    const message = 'This console shows everything and changes nothing'
    throw new ConsoleRefusal(403, 'READ_ONLY', message)
  })
  for (const [action, past] of Object.entries(actions) as [keyof typeof actions, string][]) {
    app.post(`/entries/:id/${action}`, async ({ req, var: { by } }) => {
      const id = req.param('id')
      await found(inbox, id)
      const entries = Number(await inbox[action](id))
      if (entries === 0) {
        throw new ConsoleRefusal(409, 'NOT_POSSIBLE', `This entry cannot be ${past} now`)
      }
      activity.note({ action, what: id, by })
      return Response.json({ entries })
    })
  }
  app.post('/redrive', async ({ var: { by, body } }) => {
    const entries = await inbox.redrive(redriveFilterOf(body))
    const what = entries === 1 ? '1 entry' : `${entries} entries`
    activity.note({ action: 'redrive', what, by })
    return Response.json({ entries })
  })
  app.post('/forget', async ({ var: { by, body } }) => {
    const { entity, tenant } = body
    if (typeof entity !== 'string') {
      const message = 'The body must name the entity to forget: { entity }'
      throw new ConsoleRefusal(400, 'BAD_REQUEST', message)
    }
    // Null: without a tenant. Left out: of every tenant.
    const of = tenant === undefined ? {} : { tenant: tenant as string | null }
    const entries = await inbox.forget(entity, of)
    activity.note({ action: 'forget', what: entity, by })
    return Response.json({ entries })
  })
}

const actions = { redrive: 'redriven', replay: 'replayed', dismiss: 'dismissed' } as const

/** The body must say what it means: a body that a parser has changed could mean all entries. */
function redriveFilterOf(body: Readonly<Record<string, unknown>>): EntryFilter {
  const { ids } = body
  if (Array.isArray(ids) && ids.length > 0 && ids.every((id) => typeof id === 'string')) {
    return { id: ids }
  }
  const isFilter = ([name, value]: [string, unknown]) =>
    filters.includes(name) && typeof value === 'string'
  if (body.state === 'dead' && Object.entries(body).every(isFilter)) {
    return filterOf(body as QueryValues)
  }
  const message = `The body must say what to redrive: { "ids": [] }, or { "state": "dead" }, and of ${filters.join(', ')} only texts`
  throw new ConsoleRefusal(400, 'BAD_REQUEST', message)
}

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

async function deliveryOf(inbox: Inbox, id: string): Promise<NonNullable<Entry['delivery']>> {
  const { delivery } = await found(inbox, id, true)
  if (delivery) return delivery
  throw new ConsoleRefusal(410, 'ERASED', 'The payload of this entry was erased')
}

const filters: readonly string[] = ['state', 'name', 'entity', 'tenant', 'since', 'search']

type QueryValues = Readonly<Record<string, string | undefined>>

function filterOf(query: QueryValues): EntryFilter {
  const given = filters.flatMap((name) => {
    const value = query[name]?.trim()
    return value ? [[name, name === 'state' ? value.split(',') : value] as const] : []
  })
  return Object.fromEntries(given)
}

/** Bytes of a body whose shape is shown: an open page asks for it once a second. */
const maxShown = 262_144

function shapeOf(body: Uint8Array): unknown {
  if (body.length > maxShown) return `${body.length} bytes, too many to be shown masked`
  const text = decodeUtf8(body)
  const json = text === undefined ? undefined : parseJson(text)
  return json ? dotted(json.value, 'body') : `${body.length} bytes that are not JSON`
}

/** The spans that can be asked for, in milliseconds. */
export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const

export type Span = keyof typeof spans

export interface Bucket {
  readonly at: string
  readonly counts: Readonly<Partial<Record<EntryState, number>>>
}

/** A handler with its times, and how many entries it failed at their last attempt. */
export type HandlerRow = Partial<HandlerLatency> & {
  readonly handler: string
  readonly failed: number
}

export interface History {
  readonly buckets: readonly Bucket[]
  readonly width: number
  readonly handlers: readonly HandlerRow[]
  /** The oldest entry that was read, where there were more. */
  readonly readBackTo?: string
}

const bars = 60
const pages = 10
const pageSize = 500

type InboxReads = Pick<Inbox, 'find' | 'stats'>

/** Reads the entries of a span, newest first, at most five thousand of them. */
async function historyOf(
  inbox: InboxReads,
  span: Span,
  { now, latencies }: { readonly now: Date; readonly latencies: readonly HandlerLatency[] },
): Promise<History> {
  const width = spans[span] / bars
  const end = Math.ceil(now.getTime() / width) * width
  const start = end - spans[span]
  const since = new Date(start)
  const { items, hasMore } = await readEntries(inbox, { since }, { count: pages * pageSize })
  const counts = Array.from({ length: bars }, () => ({}) as Record<EntryState, number>)
  const failures = new Map(latencies.map(({ handler }) => [handler, 0]))
  for (const { receivedAt, state, failures: failed } of items) {
    const at = Math.min(bars - 1, Math.max(0, Math.floor((receivedAt.getTime() - start) / width)))
    const own = counts[at]
    if (own) own[state] = (own[state] ?? 0) + 1
    for (const { handler } of failed) failures.set(handler, (failures.get(handler) ?? 0) + 1)
  }
  const oldest = items.at(-1)?.receivedAt.toISOString()
  return {
    width,
    buckets: counts.map((own, at) => ({
      at: new Date(start + at * width).toISOString(),
      counts: own,
    })),
    handlers: [...failures].map(([handler, failed]) => ({
      ...latencies.find((one) => one.handler === handler),
      handler,
      failed,
    })),
    ...(hasMore && oldest !== undefined && { readBackTo: oldest }),
  }
}

interface EntriesOptions {
  readonly count: number
  readonly fits?: (entry: Entry) => boolean
}

/** Reads pages until enough entries fit what the store cannot filter by, at most ten pages. */
async function readEntries(
  inbox: InboxReads,
  filter: EntryFilter,
  { count, fits }: EntriesOptions,
) {
  const entries: Entry[] = []
  let next: string | undefined
  for (let page = 0; page < pages && entries.length < count; page++) {
    const limit = fits ? pageSize : Math.min(pageSize, count)
    const found = await inbox.find({ ...filter, limit, ...defined({ cursor: next }) })
    entries.push(...(fits ? found.entries.filter(fits) : found.entries))
    next = found.cursor
    if (next === undefined) break
  }
  const hasMore = next !== undefined || entries.length > count
  return { items: entries.slice(0, count), hasMore }
}

/** One action of a user of the console. */
export interface Activity {
  readonly at: string
  readonly action: 'reveal' | 'redrive' | 'replay' | 'dismiss' | 'forget'
  /** The target: a record's id, or a description of a filter. */
  readonly what: string
  /** The operator, if the app knows. */
  readonly by?: string
}

export type TellActivity = (activity: Activity) => unknown

type ActivityLog = ReturnType<typeof createActivityLog>

interface Done extends Pick<Activity, 'action' | 'what'> {
  readonly by: string | undefined
}

export function createActivityLog(now: () => Date, tell: TellActivity = () => {}) {
  let activities: readonly Activity[] = []
  const timed = ({ action, what, by }: Done): Activity =>
    defined({ at: now().toISOString(), action, what: what.slice(0, 200), by })
  const add = (one: Activity) => {
    activities = [one, ...activities].slice(0, 1000)
  }
  return {
    /** Before a person's data is shown; throws 503 `ACTIVITY_FAILED` if `tell` fails. */
    async record(done: Done): Promise<void> {
      const one = timed(done)
      try {
        await tell(one)
      } catch {
        const message =
          'Nothing was shown, because `onActivity` could not record it: look at its log'
        throw new ConsoleRefusal(503, 'ACTIVITY_FAILED', message)
      }
      add(one)
    },
    /** Records a change that was made: it stays, so an error of `tell` is a warning. */
    note(done: Done): void {
      const one = timed(done)
      add(one)
      warnIfItThrows('onActivity', () => tell(one))
    },
    list: () => activities,
  }
}
