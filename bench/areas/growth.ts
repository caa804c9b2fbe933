// How the cost of a delivery grows: with the handlers, with the secrets, and with the deliveries
// before it, of which nothing may stay in memory.
import { createReceiver, type ReceiverOptions } from 'idv-webhooks'
import { eventSchemas } from 'idv-webhooks/protocol'
import { type Contender, compare, median, quick, thorough } from '../compare.ts'
import { verify } from '../contenders/limit.ts'
import { headersOf, secret } from '../deliveries.ts'
import type { Area, Section } from '../section.ts'
import { sampleOf } from './process.ts'

const sample = sampleOf('2K')
const { body, signature } = sample
const delivery = { body, headers: headersOf(body, signature) }
const name = 'verification.approved'

interface Shape extends ReceiverOptions {
  /** Handlers of other events. */
  readonly others?: number
  /** Handlers of the event that is delivered. */
  readonly same?: number
}

function receive({ others = 0, same = 1, ...options }: Shape) {
  const names = Array.from({ length: others }, (_, at) => `billing.event_${at}`)
  const schemas = Object.fromEntries(names.map((one) => [one, eventSchemas[name]]))
  const receiver = createReceiver({ ...options, schemas })
  for (const one of names) receiver.on(one as typeof name, () => {})
  for (let at = 0; at < same; at++) receiver.on(name, () => {})
  return async () => (await receiver.receive(delivery)).kind === 'handled'
}

async function handlers(isQuick: boolean): Promise<Section[]> {
  const counts = [1, 10, 100, 1_000, 10_000]
  const group = 'other events'
  const other = counts.map((count) => ({
    group,
    name: `${count.toLocaleString('en-US')} events with a handler`,
    run: receive({ secret, others: count - 1 }),
  }))
  const found = await compare(other, isQuick ? quick : thorough)
  const first = other[0]?.name ?? ''
  return [
    {
      id: 'growth-events',
      title: 'Events that have a handler',
      columns: [
        { key: 'cpu', label: 'CPU, µs', unit: 'us' },
        { key: 'first', label: "of one event's speed", unit: 'ratio', agree: 0.05 },
      ],
      chart: 'first',
      rows: found.map((row) => ({
        name: row.name,
        ours: true,
        values: { cpu: row.cpu, first: row.faster[first] ?? 0 },
      })),
      targets: [{ row: '10,000 events with a handler', column: 'first', atLeast: 0.9 }],
    },
    await sameEvent(isQuick),
  ]
}

async function sameEvent(isQuick: boolean): Promise<Section> {
  const counts = [1, 10, 100]
  const contenders = counts.map((count) => ({
    group: 'same event',
    name: `${count} handlers of one event`,
    run: receive({ secret, same: count }),
  }))
  const found = await compare(contenders, isQuick ? quick : thorough)
  const least = found[0]?.cpu ?? 0
  return {
    id: 'growth-handlers',
    title: 'Handlers of one event',
    columns: [
      { key: 'cpu', label: 'CPU, µs', unit: 'us' },
      { key: 'each', label: 'each further handler, µs', unit: 'us' },
    ],
    rows: found.map(({ name, cpu }, at) => {
      const more = (counts[at] ?? 1) - 1
      return { name, ours: true, values: more > 0 ? { cpu, each: (cpu - least) / more } : { cpu } }
    }),
  }
}

async function secrets(isQuick: boolean): Promise<Section> {
  const counts = [1, 2, 4, 8, 16]
  const contenders: Contender[] = [
    { group: 'secrets', name: 'one HMAC (the limit)', run: () => verify(body, signature) },
    ...counts.map((count) => {
      const older = Array.from({ length: count - 1 }, (_, at) => ({
        id: `old-${at}`,
        value: `an-older-secret-${at}-0123456789`,
      }))
      const all = [...older, { id: 'new', value: secret }]
      return { group: 'secrets', name: `${count} secrets`, run: receive({ secret: all }) }
    }),
  ]
  const found = await compare(contenders, isQuick ? quick : thorough)
  const [hmac, one] = found
  return {
    id: 'growth-secrets',
    title: 'Secrets, of which the last one matches',
    columns: [
      { key: 'cpu', label: 'CPU, µs', unit: 'us' },
      { key: 'each', label: 'HMACs for each further secret', unit: 'ratio', agree: 0.15 },
    ],
    rows: found.map(({ name, cpu }, at) => {
      const more = (counts[at - 1] ?? 1) - 1
      const each = (cpu - (one?.cpu ?? 0)) / more / (hmac?.cpu ?? 1)
      return { name, ours: at > 0, values: more > 0 ? { cpu, each } : { cpu } }
    }),
    targets: [{ row: '16 secrets', column: 'each', atMost: 1.25 }],
  }
}

async function memory(isQuick: boolean): Promise<Section> {
  const all = isQuick ? 100_000 : 1_000_000
  const run = receive({ secret })
  const marks = []
  for (let mark = 0; mark <= 10; mark++) {
    for (let at = 0; mark > 0 && at < all / 10; at++) await run()
    const heaps = Array.from({ length: 3 }, () => {
      globalThis.gc?.()
      return process.memoryUsage().heapUsed
    })
    marks.push({ count: (mark * all) / 10, heap: median(heaps), rss: process.memoryUsage().rss })
  }
  const base = marks[1]?.heap ?? 0
  return {
    id: 'growth-memory',
    title: 'Memory after so many deliveries, heap collected',
    columns: [
      { key: 'heap', label: 'heap, MB', unit: 'MB' },
      { key: 'growth', label: 'bytes a delivery since the first tenth', unit: 'ratio' },
      { key: 'rss', label: 'resident, MB', unit: 'MB' },
    ],
    rows: marks.map(({ count, heap, rss }) => {
      const since = count - all / 10
      const values = { heap: heap / 1e6, rss: rss / 1e6 }
      const growth = (heap - base) / since
      return {
        name: `${count.toLocaleString('en-US')} deliveries`,
        ours: true,
        values: since > 0 ? { ...values, growth } : values,
      }
    }),
    targets: [{ row: `${all.toLocaleString('en-US')} deliveries`, column: 'growth', atMost: 1 }],
  }
}

export const area: Area = {
  name: 'growth',
  runs: 2,
  async measure({ quick: isQuick }) {
    return [...(await handlers(isQuick)), await secrets(isQuick), await memory(isQuick)]
  },
}
