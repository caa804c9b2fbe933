// The deliveries that the page knows, newest first: pages that were asked for, and what arrives
// live. A page that was asked for never overwrites what was heard since.
import { batch, computed, signal } from '@preact/signals'
import { defined } from '../../../../src/foundation/defined.ts'
import { call, Problem, query } from '../call.ts'
import { listen, resync } from '../load.ts'
import { type AttemptRow, control, type DeliveryLine, type ListPage } from './resources.ts'

const pageSize = 1000
/** Older ones are let go, so that a page that stays open for a week stays light. */
const most = 20_000

const byId = new Map<string, DeliveryLine>()
/** Oldest first. */
let order: string[] = []
const version = signal(0)
export const total = signal<number | undefined>(undefined)
/** Why the latest question got no answer. */
export const listProblem = signal<Problem | undefined>(undefined)
let whole = false

/** The stream sends whole rows; a list needs their summaries. */
type Heard = Omit<DeliveryLine, 'attempts'> & {
  readonly removed?: boolean
  readonly body?: string
  readonly attempts: readonly (AttemptRow & { readonly status?: number })[]
}

/** A question for a page; what is heard meanwhile is newer than its answer. */
interface PageQuestion {
  readonly page: number
  readonly heard: Set<string>
  /** Asked before something that its answer may not show yet. */
  stale: boolean
}

let question: PageQuestion | undefined

function hear({ id, ...row }: Heard): void {
  if (row.removed) return
  question?.heard.add(id)
  if (!byId.has(id)) {
    order.push(id)
    if (total.peek() !== undefined) total.value = (total.peek() ?? 0) + 1
  }
  const attempts = row.attempts.map(({ at, response, status, error, fault }) =>
    defined({ at, status: response?.status ?? status, error, fault }),
  )
  // The page keeps no bodies.
  const { body: _, ...summary } = row
  byId.set(id, { ...summary, id, attempts })
  if (order.length > most) for (const old of order.splice(0, order.length - most)) byId.delete(old)
  version.value++
}

/** Asks for a page; one question at a time. */
async function ask(page: number): Promise<void> {
  const own: PageQuestion = { page, heard: new Set(), stale: false }
  question = own
  try {
    const path = `${control}/deliveries${query({ page, limit: pageSize })}`
    const answer = await call<ListPage<DeliveryLine>>(path)
    listProblem.value = undefined
    if (!own.stale) take(answer, own)
  } catch (error) {
    listProblem.value = error instanceof Problem ? error : new Problem(0, { message: `${error}` })
  }
  question = undefined
  if (own.stale) await ask(1)
}

function take({ data, pagination }: ListPage<DeliveryLine>, { page, heard }: PageQuestion): void {
  const asked = data.toReversed()
  const fresh = new Set(asked.map(({ id }) => id))
  const older = asked.filter(({ id }) => !byId.has(id)).map(({ id }) => id)
  if (page === 1) {
    const since = order.filter((id) => heard.has(id) && !fresh.has(id))
    const known = order.filter((id) => !fresh.has(id) && !heard.has(id))
    // Nothing in common: others lie between what is known and this page. They are asked for again.
    const meets = older.length < asked.length || !pagination.hasNext
    if (!meets) for (const id of known) byId.delete(id)
    order = [...(meets ? known : []), ...fresh, ...since]
  } else order = [...older, ...order]
  for (const one of asked) if (!heard.has(one.id)) byId.set(one.id, one)
  batch(() => {
    total.value = pagination.total
    whole = !pagination.hasNext
    version.value++
  })
}

/** Asks for the first page again, for what happened while nobody listened. */
function refresh(): void {
  if (question) question.stale = true
  else void ask(1)
}

/** Begins, once: the first page, and everything after it. */
let begun = false
export function begin(): void {
  if (begun) {
    refresh()
    return
  }
  begun = true
  listen<Heard>('delivery', hear)
  listen('state', () => {
    byId.clear()
    order = []
    version.value++
    refresh()
  })
  // Calls at once, and whenever the connection begins.
  resync.subscribe(refresh)
}

/** Asks for those before the oldest that is known. */
export function askOlder(): void {
  if (question || whole || order.length === 0) return
  void ask(Math.floor(order.length / pageSize) + 1)
}

export interface ListFilter {
  readonly event?: string | undefined
  readonly status?: string | undefined
  readonly subscriptionId?: string | undefined
  readonly search?: string | undefined
}

/** Those that fit, newest first. */
export function select(filter: ListFilter): readonly DeliveryLine[] {
  version.value
  const { event, status, subscriptionId, search } = filter
  const found: DeliveryLine[] = []
  for (let at = order.length - 1; at >= 0; at--) {
    const one = byId.get(order[at] ?? '')
    if (!one) continue
    if (event && one.canonicalEvent !== event && one.event !== event) continue
    if (status && one.status !== status) continue
    if (subscriptionId && one.subscriptionId !== subscriptionId) continue
    if (search && !fits(one, search)) continue
    found.push(one)
  }
  return found
}

function fits({ id, eventId, resourceId, event }: DeliveryLine, search: string): boolean {
  return [id, eventId, resourceId, event].some((text) => text.includes(search))
}

export const isLoaded = computed(() => total.value !== undefined)
