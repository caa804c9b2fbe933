// The deliveries that the page knows, newest first: pages that were asked for, and what arrives
// live. A page that was asked for never overwrites what was heard since.
import { batch, computed, signal } from '@preact/signals'
import { call, query } from '../call.ts'
import { listen, resync } from '../live.ts'
import { type Attempt, control, type DeliverySummary, type Page } from './resources.ts'

const pageSize = 1000
/** Older ones are let go, so that a page that stays open for a week stays light. */
const most = 20_000

const byId = new Map<string, DeliverySummary>()
/** Oldest first. */
let order: string[] = []
const version = signal(0)
export const total = signal<number | undefined>(undefined)
let heard: Set<string> | undefined
let asking: Promise<void> | undefined
let whole = false

/** What is heard is a whole row; a list needs its summary. */
type Heard = Omit<DeliverySummary, 'attempts'> & {
  readonly removed?: boolean
  readonly attempts: readonly (Attempt & { readonly status?: number })[]
}

function hear({ id, ...row }: Heard): void {
  if (row.removed) return
  heard?.add(id)
  if (!byId.has(id)) {
    order.push(id)
    if (total.peek() !== undefined) total.value = (total.peek() ?? 0) + 1
  }
  const attempts = row.attempts.map(({ at, response, status, error, fault }) => ({
    at,
    ...((response?.status ?? status) !== undefined && { status: response?.status ?? status }),
    ...(error !== undefined && { error }),
    ...(fault !== undefined && { fault }),
  })) as DeliverySummary['attempts']
  const { subscriptionId, eventId, event, canonicalEvent, resourceId, createdAt } = row
  const { status, nextAttemptAt, fault } = row
  byId.set(id, {
    ...{ id, subscriptionId, eventId, event, canonicalEvent, resourceId, createdAt },
    ...{ status, nextAttemptAt, attempts },
    ...(fault !== undefined && { fault }),
  })
  if (order.length > most) for (const old of order.splice(0, order.length - most)) byId.delete(old)
  version.value++
}

async function ask(page: number): Promise<void> {
  const during = new Set<string>()
  heard = during
  const path = `${control}/deliveries${query({ page, limit: pageSize })}`
  const { data, pagination } = await call<Page<DeliverySummary>>(path)
  heard = undefined
  batch(() => {
    const older: string[] = []
    for (const one of data.toReversed()) {
      if (during.has(one.id)) continue
      if (!byId.has(one.id)) older.push(one.id)
      byId.set(one.id, one)
    }
    if (page === 1) {
      // What was missed while nobody listened lies between what is known and what is new.
      const fresh = new Set([...data].map(({ id }) => id))
      const known = order.filter((id) => !fresh.has(id) && !during.has(id))
      const heardOnly = order.filter((id) => during.has(id) && !fresh.has(id))
      order = [...known, ...data.toReversed().map(({ id }) => id), ...heardOnly]
    } else order = [...older, ...order]
    total.value = pagination.total
    whole = !pagination.hasNext
    version.value++
  })
}

/** Asks for the first page again, for what happened while nobody listened. */
function refresh(): Promise<void> {
  asking ??= ask(1).finally(() => {
    asking = undefined
  })
  return asking
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
    refresh()
  })
  resync.subscribe(() => {
    refresh()
  })
}

/** Asks for those before the oldest that is known. */
export function askOlder(): void {
  if (asking || whole || order.length === 0) return
  asking = ask(Math.floor(order.length / pageSize) + 1).finally(() => {
    asking = undefined
  })
}

export interface DeliveryFilter {
  readonly event?: string | undefined
  readonly status?: string | undefined
  readonly subscriptionId?: string | undefined
  readonly search?: string | undefined
}

/** Those that fit, newest first. */
export function select(filter: DeliveryFilter): readonly DeliverySummary[] {
  version.value
  const { event, status, subscriptionId, search } = filter
  const found: DeliverySummary[] = []
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

function fits({ id, eventId, resourceId, event }: DeliverySummary, search: string): boolean {
  return [id, eventId, resourceId, event].some((text) => text.includes(search))
}

export const isLoaded = computed(() => total.value !== undefined)
