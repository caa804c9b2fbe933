// The real exporters send to a receiver of OTLP over HTTP, which is a server of the test's own.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import * as api from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { openTelemetry } from 'idv-webhooks/opentelemetry'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { everything } from './everything.ts'

interface Attribute {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string }
}

interface Span {
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly links: readonly { readonly traceId: string }[]
  readonly status: { readonly code?: number; readonly message?: string }
}

interface Point {
  readonly attributes: readonly Attribute[]
  readonly count?: number | string
  readonly sum?: number
  readonly asInt?: number | string
  readonly asDouble?: number
}

interface Metric {
  readonly name: string
  readonly unit: string
  readonly sum?: { readonly dataPoints: readonly Point[]; readonly isMonotonic: boolean }
  readonly histogram?: { readonly dataPoints: readonly Point[] }
}

const traceId = '0af7651916cd43dd8448eb211c80319c'
const paths: string[] = []
const spans: Span[] = []
const metrics: Metric[] = []

/** Takes what a collector takes: the JSON of OTLP/HTTP. */
const collector = createServer(async (request, response) => {
  paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`)
  const sent = (await json(request)) as {
    resourceSpans?: { scopeSpans: { spans: Span[] }[] }[]
    resourceMetrics?: { scopeMetrics: { metrics: Metric[] }[] }[]
  }
  for (const { scopeSpans } of sent.resourceSpans ?? []) {
    for (const one of scopeSpans) spans.push(...one.spans)
  }
  for (const { scopeMetrics } of sent.resourceMetrics ?? []) {
    for (const one of scopeMetrics) metrics.push(...one.metrics)
  }
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
})

beforeAll(async () => {
  collector.listen(0, '127.0.0.1')
  await once(collector, 'listening')
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/v1`
  const traces = new BatchSpanProcessor(new OTLPTraceExporter({ url: `${url}/traces` }))
  const tracer = new BasicTracerProvider({ spanProcessors: [traces] })
  const exporter = new OTLPMetricExporter({ url: `${url}/metrics` })
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000_000 })
  const meter = new MeterProvider({ readers: [reader] })
  api.trace.setGlobalTracerProvider(tracer)
  api.metrics.setGlobalMeterProvider(meter)
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  const telemetry = openTelemetry()
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`
  await everything({ observe: telemetry, around: telemetry.around }, { traceparent })
  await Promise.all([tracer.shutdown(), meter.shutdown()])
})

afterAll(() => {
  collector.close()
})

const plain = (attributes: readonly Attribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]))

test('spans arrive at a collector, with their links, statuses and durations', () => {
  expect(paths).toContain('POST /v1/traces application/json')
  const process = spans.filter(({ name }) => name.startsWith('process '))
  expect(process.map(({ name, status }) => [name, status.code ?? 0])).toEqual([
    ['process client.created', 0],
    ['process verification.approved', 2],
    ['process verification.approved', 2],
  ])
  for (const { links, kind, startTimeUnixNano, endTimeUnixNano } of process) {
    expect(links.map((link) => link.traceId)).toEqual([traceId])
    expect(kind).toBe(5)
    expect(BigInt(endTimeUnixNano)).toBeGreaterThan(BigInt(startTimeUnixNano))
  }
  expect(plain(process[0]?.attributes ?? [])).toMatchObject({
    'messaging.system.name': 'webhook',
    'messaging.destination.subscription.name': 'crm',
    'idv_webhooks.attempt': 1,
  })
  const received = spans.filter(({ name }) => name.startsWith('receive'))
  expect(received.map(({ attributes }) => plain(attributes)['idv_webhooks.outcome'])).toEqual([
    'accepted',
    'accepted',
    'rejected',
    'failed',
  ])
})

test('metrics arrive at a collector: outcomes, attempts, age, lag and dead letters', () => {
  expect(paths).toContain('POST /v1/metrics application/json')
  const points = (name: string) => {
    const found = metrics.find((metric) => metric.name === name)
    const { dataPoints = [] } = found?.sum ?? found?.histogram ?? {}
    return dataPoints.map(({ attributes, asInt, asDouble, count }) => ({
      ...plain(attributes),
      n: Number(count ?? asInt ?? asDouble),
    }))
  }
  const total = (name: string) => points(name).reduce((sum, { n }) => sum + n, 0)
  const outcomes = points('idv_webhooks.deliveries')
  expect(
    outcomes.map((one) => [(one as Record<string, unknown>)['idv_webhooks.outcome'], one.n]),
  ).toEqual([
    ['accepted', 1],
    ['accepted', 1],
    ['rejected', 1],
    ['failed', 1],
  ])
  expect(total('messaging.client.operation.duration')).toBe(4)
  expect(total('messaging.process.duration')).toBe(3)
  expect(total('idv_webhooks.entry.age')).toBe(3)
  expect(points('idv_webhooks.dead_letters')).toMatchObject([
    { 'error.type': 'HANDLER_FAILED', n: 2 },
  ])
  const lag = metrics.find(({ name }) => name === 'idv_webhooks.event.lag')
  expect(lag?.unit).toBe('s')
  expect(lag?.histogram?.dataPoints).toHaveLength(1)
  expect(Number(lag?.histogram?.dataPoints[0]?.sum)).toBeGreaterThanOrEqual(90)
})
