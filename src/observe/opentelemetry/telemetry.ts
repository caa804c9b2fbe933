// openTelemetry: an observer that makes spans and metrics of what a receiver does. It needs no SDK:
// without one nothing is recorded.
import * as installed from '@opentelemetry/api'
import type { Around } from '../../dispatch/handler.ts'
import { invalid, shown } from '../../foundation/check.ts'
import type { Observe } from '../observe.ts'
import type { Api } from './attributes.ts'
import { Metrics } from './metrics.ts'
import { Spans, unthrown } from './spans.ts'

/** An observer for the option `observe`, and what surrounds handlers for the option `around`. */
export interface Telemetry extends Observe {
  readonly around: Around
}

const scope = 'idv-webhooks'

/**
 * Makes spans and metrics by OpenTelemetry's API. Pass the application's `@opentelemetry/api` as
 * `api` if this package would find another copy.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example
 * const telemetry = openTelemetry()
 * createReceiver({ secret, observe: telemetry, around: telemetry.around })
 */
export function openTelemetry(api: Api = installed): Telemetry {
  if (typeof api?.trace?.getTracer !== 'function') {
    throw invalid(
      `openTelemetry expects the module @opentelemetry/api, got ${shown(api)}: import * as api from '@opentelemetry/api'`,
    )
  }
  let made: { readonly spans: Spans; readonly metrics: Metrics } | undefined
  // Created with the first event: a meter that is created before the SDK starts records nothing.
  const signals = () => {
    made ??= {
      spans: new Spans(api, api.trace.getTracer(scope)),
      metrics: new Metrics(api.metrics.getMeter(scope)),
    }
    return made
  }
  const observe: Observe = (seen) => {
    const { spans, metrics } = signals()
    metrics.observe(seen)
    if (seen.type === 'outcome') spans.outcome(seen)
  }
  const around: Around = (run, event, context) => {
    const spans = unthrown(() => signals().spans)
    return spans ? spans.process({ run, event, context }) : run()
  }
  return Object.assign(observe, { around })
}
