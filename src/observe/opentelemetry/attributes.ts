// The labels of spans and metrics: names, codes and numbers, never data of an event. They follow
// the semantic conventions for messaging, as far as these go.
import type { Attributes } from '@opentelemetry/api'

/** The parts of OpenTelemetry's API that are used. */
export type Api = Pick<
  typeof import('@opentelemetry/api'),
  'context' | 'metrics' | 'propagation' | 'trace'
>

/** An event as a span or a metric describes it. */
export interface Labels {
  readonly operation: 'receive' | 'process'
  readonly name: string | undefined
  readonly vendor: string | undefined
  readonly handler?: string | undefined
  /** Why it did not succeed: a code, or the class of an error. */
  readonly error?: string | undefined
}

/** Attributes of few values, so that each metric is a small number of series. */
export function labelled({ operation, name, vendor, handler, error }: Labels): Attributes {
  return {
    'messaging.system.name': 'webhook',
    'messaging.operation.name': operation,
    'messaging.operation.type': operation,
    'messaging.destination.name': name,
    'messaging.destination.subscription.name': handler,
    'idv_webhooks.vendor': vendor,
    'error.type': error,
  }
}
