import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import * as conventions from '@opentelemetry/semantic-conventions/incubating'
import { createReceiver, createWorker, type ReceiverOptions } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { openTelemetry } from 'idv-webhooks/opentelemetry'
import { fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { afterAll, beforeEach, expect, test } from 'vitest'

// Made before the SDK, as in an application that imports its receiver first.
const telemetry = openTelemetry()
const spans = new InMemorySpanExporter()
const exporter = new InMemoryMetricExporter(AggregationTemporality.DELTA)
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000_000 })
api.trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }),
)
api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())

beforeEach(async () => {
  await reader.forceFlush()
  exporter.reset()
  spans.reset()
})
afterAll(() => reader.shutdown())

const event = fixture('verification.approved')
const create = (options: Partial<ReceiverOptions> = {}) =>
  createReceiver({
    secret: testSecret,
    observe: telemetry,
    around: telemetry.around,
    ...options,
  })
const traceId = '0af7651916cd43dd8448eb211c80319c'
async function traced() {
  const { body, headers } = await signedDelivery(event)
  return { body, headers: { ...headers, traceparent: `00-${traceId}-b7ad6b7169203331-01` } }
}

/** Every point of a metric: its attributes, and its count or sum. */
async function pointsOf(name: string): Promise<Record<string, unknown>[]> {
  await reader.forceFlush()
  const all = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics)
  const metrics = all.flatMap((one) => one.metrics).filter((one) => one.descriptor.name === name)
  return metrics.flatMap(({ dataPoints }) =>
    dataPoints.map(({ attributes, value }) => ({
      ...attributes,
      n: typeof value === 'number' ? value : value.count,
    })),
  )
}
const ended = (name: string) => spans.getFinishedSpans().filter((one) => one.name === name)

test('a handler runs in a span that links to the trace of the sender', async () => {
  const tracer = api.trace.getTracer('app')
  const receiver = create()
  receiver.on('verification.approved', () => tracer.startSpan('query').end(), { id: 'activate' })
  await tracer.startActiveSpan('POST /webhooks', async (http) => {
    expect((await receiver.receive(await traced())).kind).toBe('handled')
    http.end()
  })
  const [process] = ended('process verification.approved')
  const [http] = ended('POST /webhooks')
  expect(process?.kind).toBe(api.SpanKind.CONSUMER)
  expect(process?.links.map(({ context }) => context.traceId)).toEqual([traceId])
  expect(process?.parentSpanContext?.spanId).toBe(http?.spanContext().spanId)
  expect(ended('query')[0]?.parentSpanContext?.spanId).toBe(process?.spanContext().spanId)
  expect(process?.attributes).toMatchObject({
    'messaging.system.name': 'webhook',
    'messaging.operation.name': 'process',
    'messaging.operation.type': 'process',
    'messaging.destination.name': 'verification.approved',
    'messaging.destination.subscription.name': 'activate',
    'idv_webhooks.attempt': 1,
  })
  const [receive] = ended('receive verification.approved')
  expect(receive?.attributes).toMatchObject({ 'idv_webhooks.outcome': 'handled' })
  expect(receive?.parentSpanContext?.spanId).toBe(http?.spanContext().spanId)
})

test('through the inbox the span still links to the sender, in each attempt', async () => {
  const inbox = createInbox({ store: memoryStore(), retry: { attempts: 2, delays: [0] } })
  const receiver = create({ inbox })
  receiver.on('*', (_, { attempt }) => {
    if (attempt === 1) throw new TypeError('a text with a name in it')
  })
  expect((await receiver.receive(await traced())).kind).toBe('accepted')
  const worker = createWorker(receiver)
  await worker.runOnce()
  await worker.runOnce()
  const attempts = ended('process verification.approved')
  expect(attempts.map(({ attributes }) => attributes['idv_webhooks.attempt'])).toEqual([1, 2])
  for (const { links } of attempts) {
    expect(links.map(({ context }) => context.traceId)).toEqual([traceId])
  }
  expect(attempts[0]?.status).toEqual({ code: api.SpanStatusCode.ERROR, message: 'TypeError' })
  expect(attempts[0]?.attributes['error.type']).toBe('TypeError')
  expect(attempts[1]?.status.code).toBe(api.SpanStatusCode.UNSET)
  expect(JSON.stringify(attempts.map(({ events, status }) => [events, status]))).not.toContain(
    'a name in it',
  )
})

test('names that a sender makes up are a bounded number of series', async () => {
  const receiver = create()
  receiver.on('verification.approved', () => {})
  receiver.fallback(() => {}, { id: 'rest' })
  for (let at = 0; at < 300; at += 1) {
    await receiver.receive(await signedDelivery({ event: `made.up_${at}`, data: {} }))
  }
  await receiver.receive(await signedDelivery(event))
  const named = await pointsOf('messaging.process.duration')
  const names = named.map((point) => point['messaging.destination.name'])
  expect(names).toContain('verification.approved')
  expect(names).toContain('(other)')
  expect(names.length).toBeLessThanOrEqual(102)
  expect((await pointsOf('idv_webhooks.deliveries')).length).toBeLessThanOrEqual(102)
})

test('an entry that fails for good counts as a dead letter, with its age', async () => {
  const inbox = createInbox({ store: memoryStore(), retry: { attempts: 1 } })
  const receiver = create({ inbox })
  receiver.on('*', () => Promise.reject(new Error('no')), { id: 'crm' })
  await receiver.receive(await signedDelivery(event))
  await createWorker(receiver).runOnce()
  const named = { 'messaging.destination.name': 'verification.approved' }
  expect(await pointsOf('idv_webhooks.dead_letters')).toEqual([
    { ...named, 'error.type': 'HANDLER_FAILED', n: 1 },
  ])
  expect(await pointsOf('idv_webhooks.entry.age')).toEqual([
    { ...named, 'idv_webhooks.state': 'dead', n: 1 },
  ])
  expect(await pointsOf('messaging.process.duration')).toMatchObject([
    { 'error.type': 'HANDLER_FAILED', 'messaging.destination.subscription.name': 'crm', n: 1 },
  ])
  expect(await pointsOf('idv_webhooks.event.lag')).toEqual([])
})

test('outcomes are counted by kind and code, and only failures of ours are errors', async () => {
  const receiver = create()
  receiver.on('*', () => {
    throw new Error('no')
  })
  await receiver.receive(await signedDelivery(event))
  await receiver.receive(await signedDelivery(event, { tamper: 'unsigned' }))
  const points = await pointsOf('idv_webhooks.deliveries')
  expect(points.map((one) => [one['idv_webhooks.outcome'], one['error.type'], one.n])).toEqual([
    ['failed', 'HANDLER_FAILED', 1],
    ['rejected', 'SIGNATURE_MISSING', 1],
  ])
  expect(await pointsOf('messaging.client.operation.duration')).toHaveLength(2)
  expect(ended('receive verification.approved')[0]?.status.code).toBe(api.SpanStatusCode.ERROR)
  expect(ended('receive')[0]?.status.code).toBe(api.SpanStatusCode.UNSET)
})

test('the lag counts from the occurrence to the success of each handler', async () => {
  const receiver = create()
  receiver.on('*', () => {}, { id: 'one' })
  const at = new Date(Date.now() - 90_000)
  await receiver.receive(await signedDelivery({ ...event, createdAt: at.toISOString() }))
  expect(await pointsOf('idv_webhooks.event.lag')).toMatchObject([
    { 'messaging.destination.subscription.name': 'one', n: 1 },
  ])
})

test('a span ends at the time limit of its handler', async () => {
  const receiver = create({ handlerTimeout: 20 })
  receiver.on('*', () => new Promise(() => {}))
  await receiver.receive(await signedDelivery(event))
  const [span] = ended('process verification.approved')
  expect(span?.attributes['error.type']).toBe('TimeoutError')
})

test('no name of the conventions is invented or deprecated', async () => {
  const receiver = create()
  receiver.on('*', () => {})
  await receiver.receive(await signedDelivery(event))
  const current = Object.entries(conventions).filter(([name]) => name.startsWith('ATTR_'))
  const names = spans.getFinishedSpans().flatMap(({ attributes }) => Object.keys(attributes))
  const standard = [...new Set(names)].filter((name) => name.startsWith('messaging.'))
  expect(standard.length).toBeGreaterThanOrEqual(6)
  expect(standard.filter((name) => !current.some(([, value]) => value === name))).toEqual([])
})

test('another copy of the API can be passed in, and any other object is rejected', async () => {
  const own = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(own)] })
  const trace = { ...api.trace, getTracer: (name: string) => provider.getTracer(name) }
  const observe = openTelemetry({ ...api, trace: trace as unknown as typeof api.trace })
  await create({ observe }).receive(await signedDelivery(event))
  expect(own.getFinishedSpans().map(({ name }) => name)).toEqual(['receive verification.approved'])
  expect(() => openTelemetry({} as never)).toThrow(/expects the module @opentelemetry\/api/)
})

test.each(['getTracer', 'onStart', 'onEnd', 'extract', 'with'] as const)(
  'a telemetry that throws in %s takes nothing from a handler: it runs once',
  async (place) => {
    const fail = () => {
      throw new Error('the collector is gone')
    }
    const processor = new SimpleSpanProcessor(spans)
    const faulty = Object.assign(processor, place.startsWith('on') && { [place]: fail })
    const provider = new BasicTracerProvider({ spanProcessors: [faulty] })
    const handedIn = {
      ...api,
      trace: Object.assign(Object.create(api.trace), {
        getTracer: place === 'getTracer' ? fail : () => provider.getTracer('t'),
      }),
      ...(place === 'extract' && {
        propagation: Object.assign(Object.create(api.propagation), { extract: fail }),
      }),
      ...(place === 'with' && {
        context: Object.assign(Object.create(api.context), { with: fail }),
      }),
    }
    const { observe, around } = { observe: () => {}, around: openTelemetry(handedIn).around }
    const inbox = createInbox({ store: memoryStore() })
    const receiver = create({ observe, around, inbox })
    let ran = 0
    receiver.on('verification.approved', () => {
      ran += 1
    })
    await receiver.receive(await traced())
    const worker = createWorker(receiver)
    expect(await worker.runOnce()).toMatchObject({ done: 1 })
    expect(ran).toBe(1)
    const failing = createReceiver({ secret: testSecret, around, observe })
    failing.on('verification.approved', () => {
      throw new TypeError('the handler itself')
    })
    expect(await failing.receive(await traced())).toMatchObject({ kind: 'failed' })
  },
)

test('a context manager that returns its own promise does not end the process', async () => {
  const wrapped = Object.assign(Object.create(api.context), {
    with: async (context: api.Context, run: () => unknown) => await api.context.with(context, run),
  })
  const { around } = openTelemetry({ ...api, context: wrapped })
  const receiver = createReceiver({ secret: testSecret, around, observe: () => {} })
  receiver.on('*', () => Promise.reject(new TypeError('the handler itself')))
  // An unhandled rejection fails the run of the tests.
  expect(await receiver.receive(await traced())).toMatchObject({ kind: 'failed' })
})
