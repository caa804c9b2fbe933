// The latency of handlers, of the entries that were done last.
import type { LatencyQuery, StoredLatency } from '../../admin-store.ts'
import type { Row } from './row.ts'

export function latencyOf(
  rows: readonly Row[],
  { since, limit, target }: LatencyQuery,
): readonly StoredLatency[] {
  const done = rows
    .filter(({ state, metadata, source }) => state === 'done' && metadata && source !== 'replay')
    .filter(({ settledAt }) => settledAt !== undefined && settledAt >= since)
    .sort((one, other) => Number(other.settledAt) - Number(one.settledAt))
    .slice(0, limit)
  const byHandler = new Map<string, number[]>()
  for (const { handled, settledAt = 0, occurredAt, storedAt } of done) {
    const took = Math.max(0, settledAt - (occurredAt ?? storedAt))
    for (const handler of handled) {
      byHandler.set(handler, [...(byHandler.get(handler) ?? []), took])
    }
  }
  const handlers = [...byHandler].sort(([one], [other]) => (one < other ? -1 : 1))
  return handlers.map(([handler, times]) => summary(handler, times, target))
}

function summary(handler: string, times: readonly number[], target: number): StoredLatency {
  const sorted = times.toSorted((one, other) => one - other)
  const percentile = (share: number) => sorted[Math.ceil((share * sorted.length) / 100) - 1] ?? 0
  return {
    handler,
    entries: sorted.length,
    within: sorted.filter((took) => took <= target).length,
    p50: percentile(50),
    p95: percentile(95),
    p99: percentile(99),
    longest: sorted.at(-1) ?? 0,
  }
}
