// The deliveries of a subscription, as a service lists them.
import { hasNextPage } from './plan.ts'

/** A delivery that has not arrived, and has not failed for good. */
export interface Undelivered {
  readonly id: string
  /** Held, or waiting for a retry; otherwise on its first attempt. */
  readonly waits: boolean
}

type Row = Readonly<Record<string, unknown>>

export const deliveriesPath = (subscriptionId: string, status: string) =>
  `/deliveries?${new URLSearchParams({ subscriptionId, status })}`

/** The rows that fit. Checked again: a service may ignore filters that it does not know. */
export function readDeliveries(json: unknown, id: string, wanted: string): readonly Row[] {
  return rowsOf(json).filter(
    ({ subscriptionId, status }) => subscriptionId === id && status === wanted,
  )
}

/** Reads every page of what is pending or held. */
export async function listUndelivered(
  get: (path: string) => Promise<unknown>,
  subscription: string,
): Promise<readonly Undelivered[]> {
  const all = new Map<unknown, Undelivered>()
  for (const status of ['pending', 'held']) {
    const path = deliveriesPath(subscription, status)
    const seen = new Set<unknown>()
    for (let page = 1; ; page += 1) {
      const json = await get(page === 1 ? path : `${path}&page=${page}`)
      const before = seen.size
      for (const { id } of rowsOf(json)) seen.add(id)
      for (const { id, attempts } of readDeliveries(json, subscription, status)) {
        all.set(id, { id: String(id), waits: status === 'held' || isTried(attempts) })
      }
      // A page without a new row would follow itself for ever.
      if (!hasNextPage(json) || seen.size === before) break
    }
  }
  return [...all.values()]
}

function rowsOf(json: unknown): readonly Row[] {
  const list = Array.isArray(json) ? json : (json as { data?: unknown } | undefined)?.data
  return Array.isArray(list) ? (list as readonly Row[]) : []
}

const isTried = (attempts: unknown) =>
  Array.isArray(attempts) ? attempts.length > 0 : Number(attempts) > 0
