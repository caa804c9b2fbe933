// The metrics have every series and label of the dashboard, in the spelling of the SDK's Prometheus
// exporter.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as api from '@opentelemetry/api'
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { openTelemetry } from 'idv-webhooks/opentelemetry'
import { beforeAll, expect, test } from 'vitest'
import { everything } from './everything.ts'

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets: readonly { readonly expr: string }[]
  }[]
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string }[]
  }
}

const docs = join(import.meta.dirname, '../../docs')
const dashboard = JSON.parse(
  readFileSync(join(docs, 'grafana-dashboard.json'), 'utf8'),
) as Dashboard
const queries = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ expr }) => ({ title, expr })),
)
/** The labels of each series. */
const series = new Map<string, Set<string>>()
const bounds = new Set<string>()

beforeAll(async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 1_000_000 })
  api.metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  const telemetry = openTelemetry()
  await everything({ observe: telemetry, around: telemetry.around })
  await reader.forceFlush()
  const serializer = new PrometheusSerializer()
  const text = exporter.getMetrics().map((one) => serializer.serialize(one))
  for (const line of text.join('\n').split('\n')) {
    const [, name = '', labels = ''] = /^([a-z_]+)\{(.*)\} \S+$/.exec(line) ?? []
    const known = series.get(name) ?? new Set()
    for (const [, label = ''] of labels.matchAll(/([a-z_]+)="/g)) known.add(label)
    series.set(name, known)
    if (name.startsWith('idv_webhooks_event_lag_'))
      bounds.add(/le="([^"]+)"/.exec(labels)?.[1] ?? '')
  }
})

/** The name of a series without the unit that may stand in it. */
const selected = (expr: string) => [
  ...expr.matchAll(/__name__=~"([a-z_]+)\(_seconds\)\?(_[a-z]+)"([^}]*)/g),
  ...expr.matchAll(/\b((?:idv_webhooks|messaging)_[a-z_]+_total)()(?:\{([^}]*)\})?\[/g),
]

test('every query asks for series and labels that there are', () => {
  expect(queries.length).toBeGreaterThan(12)
  for (const { title, expr } of queries) {
    const found = selected(expr)
    expect(found.length, title).toBeGreaterThan(0)
    for (const [, base = '', suffix = '', filter = ''] of found) {
      expect([...series.keys()], title).toContain(base + suffix)
      const asked = [
        ...[...filter.matchAll(/([a-z_]+)(?:=~|!=|=)"/g)].map(([, label]) => label),
        ...[...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, by = '']) => by.split(', ')),
      ]
      expect([...(series.get(base + suffix) ?? [])], title).toEqual(expect.arrayContaining(asked))
    }
  }
})

test('every metric of the package is on the dashboard and in the guide', () => {
  const shown = queries.map(({ expr }) => expr).join('\n')
  const guide = readFileSync(join(docs, 'observability.md'), 'utf8').replaceAll('.', '_')
  const metrics = [...series.keys()].filter((name) => /^(idv_webhooks|messaging)_/.test(name))
  const names = new Set(metrics.map((name) => name.replace(/_(total|count|sum|bucket)$/, '')))
  expect(names.size).toBe(8)
  for (const name of names) {
    expect(shown, name).toContain(name)
    expect(guide, name).toContain(name)
  }
})

test('the targets to choose from are bounds of the buckets', () => {
  const target = dashboard.templating.list.find(({ name }) => name === 'target')
  const choices = target?.query.split(',') ?? []
  expect(choices.length).toBeGreaterThan(3)
  expect(choices.filter((one) => !bounds.has(one))).toEqual([])
})

test('the recipe for prom-client and the dashboard use the same names', () => {
  const guide = readFileSync(join(docs, 'observability.md'), 'utf8')
  const recipe = /```js\n[^`]*prom-client[^`]*```/.exec(guide)?.[0] ?? ''
  const names = [...recipe.matchAll(/metric\(\w+, '([a-z_]+)'/g)].map(([, name = '']) => name)
  expect(names.length).toBe(3)
  for (const name of names) {
    const base = name.replace(/_seconds$/, '')
    expect(
      [...series.keys()].some((one) => one === name || one.startsWith(`${base}_`)),
      name,
    ).toBe(true)
    expect(
      queries.some(({ expr }) => expr.includes(base)),
      name,
    ).toBe(true)
  }
})
