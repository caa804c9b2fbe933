// The metrics: what became of deliveries, attempts and entries, and how long each took, in seconds.
import type { Meter } from '@opentelemetry/api'
import { isEventName } from '../../protocol/names.ts'
import type { AttemptObserved, Observation, OutcomeObserved } from '../observe.ts'
import { labelled } from './attributes.ts'

/** In seconds: for one run, and for the time from an occurrence to its end, which may be days. */
const short = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const long = [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 21_600, 86_400, 604_800]

const histogram = (description: string, explicitBucketBoundaries: number[]) => ({
  description,
  unit: 's',
  advice: { explicitBucketBoundaries },
})

/** A sender may make up names: names beyond this number share one series. */
const mostNames = 100
const otherName = '(other)'

/** Counts and measures what a receiver and its worker report. */
export class Metrics {
  readonly #deliveries
  readonly #received
  readonly #processed
  readonly #settled
  readonly #deadLetters
  readonly #age
  readonly #lag
  readonly #storeErrors
  /** The names, beside the service's, that have a series. */
  readonly #names = new Set<string>()

  constructor(meter: Meter) {
    const counter = (name: string, unit: string, description: string) =>
      meter.createCounter(`idv_webhooks.${name}`, { unit, description })
    this.#deliveries = counter('deliveries', '{delivery}', 'Deliveries by outcome')
    this.#settled = counter(
      'entries.settled',
      '{entry}',
      'Attempts at entries of an inbox, by state',
    )
    this.#deadLetters = counter('dead_letters', '{entry}', 'Entries that became dead letters')
    this.#storeErrors = counter('store.errors', '{error}', 'Requests that a store did not fulfil')
    this.#received = meter.createHistogram(
      'messaging.client.operation.duration',
      histogram('From the arrival of a delivery to its outcome', short),
    )
    this.#processed = meter.createHistogram(
      'messaging.process.duration',
      histogram('Duration of one run of one handler', short),
    )
    this.#age = meter.createHistogram(
      'idv_webhooks.entry.age',
      histogram('From the storing of an entry to the result of an attempt', long),
    )
    this.#lag = meter.createHistogram(
      'idv_webhooks.event.lag',
      histogram('From the occurrence of an event to the success of a handler', long),
    )
  }

  observe(seen: Observation): void {
    switch (seen.type) {
      case 'outcome':
        this.#outcome(seen)
        break
      case 'attempt':
        this.#attempt(seen)
        break
      case 'settled': {
        const name = { 'messaging.destination.name': this.#label(seen.name) }
        const attributes = { 'idv_webhooks.state': seen.state, ...name }
        this.#settled.add(1, attributes)
        this.#age.record(seen.age / 1_000, attributes)
        if (seen.state === 'dead') this.#deadLetters.add(1, { ...name, 'error.type': seen.reason })
        return
      }
      case 'store':
        this.#storeErrors.add(1, { 'idv_webhooks.asked': seen.asked })
    }
  }

  #label(name: string | undefined): string | undefined {
    if (name === undefined || isEventName(name) || this.#names.has(name)) return name
    if (this.#names.size >= mostNames) return otherName
    this.#names.add(name)
    return name
  }

  #outcome({ kind, code, name: given, vendor, duration, legacy }: OutcomeObserved): void {
    const name = this.#label(given)
    const labels = labelled({ operation: 'receive', name, vendor, error: code })
    const attributes = { ...labels, 'idv_webhooks.outcome': kind }
    this.#deliveries.add(1, { ...attributes, 'idv_webhooks.legacy': legacy })
    this.#received.record(duration / 1_000, attributes)
  }

  #attempt({ name: given, vendor, handler, code, duration, lag }: AttemptObserved): void {
    const name = this.#label(given)
    const labels = labelled({ operation: 'process', name, vendor, handler, error: code })
    this.#processed.record(duration / 1_000, labels)
    if (lag === undefined) return
    const attributes = {
      'messaging.destination.name': name,
      'messaging.destination.subscription.name': handler,
    }
    this.#lag.record(lag / 1_000, attributes)
  }
}
