// The spans: one for each delivery, made when its outcome is known, and one around each run of a
// handler, linked to the trace that the sender's headers name.
import {
  type Link,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type Tracer,
} from '@opentelemetry/api'
import { type HeaderList, headerValues } from '../../delivery.ts'
import type { Context } from '../../dispatch/handler.ts'
import { warnIfItThrows } from '../../foundation/warn.ts'
import { ignoreRejection } from '../../host/promises.ts'
import type { WebhookEvent } from '../../protocol/events.ts'
import { describeError, type OutcomeObserved, observedName } from '../observe.ts'
import { type Api, labelled } from './attributes.ts'

const headerGetter: TextMapGetter<HeaderList> = {
  get: (headers, name) => headerValues(headers, name)[0],
  keys: (headers) => headers.map(([name]) => name),
}

/** One run of a handler; its span ends once, with the handler or at the time limit. */
interface Surrounded {
  readonly run: () => Promise<unknown>
  readonly event: WebhookEvent
  readonly context: Context
}

/** Makes the spans. */
export class Spans {
  readonly #api: Api
  readonly #tracer: Tracer

  constructor(api: Api, tracer: Tracer) {
    this.#api = api
    this.#tracer = tracer
  }

  /** The delivery is over, so its span began `duration` ago. */
  outcome(seen: OutcomeObserved): void {
    const { kind, code, name, vendor, bytes, eventId, duration } = seen
    const end = Date.now()
    const span = this.#tracer.startSpan(name === undefined ? 'receive' : `receive ${name}`, {
      kind: SpanKind.CONSUMER,
      startTime: new Date(end - duration),
      attributes: {
        ...labelled({ operation: 'receive', name, vendor, error: code }),
        'messaging.message.id': eventId,
        'messaging.message.body.size': bytes,
        'idv_webhooks.outcome': kind,
      },
    })
    // A refusal is the sender's error.
    if (kind === 'failed') span.setStatus({ code: SpanStatusCode.ERROR, message: code ?? kind })
    span.end(new Date(end))
  }

  /**
   * Runs a handler inside its own span, which is current for everything that the handler calls. An
   * error of the telemetry becomes a warning: the handler runs once, and its result counts.
   */
  async process(surrounded: Surrounded): Promise<void> {
    const { run, context } = surrounded
    const span = unthrown(() => this.#begin(surrounded))
    if (!span) return void (await run())
    const { signal } = context
    const abort = () => endWith(span, signal.reason)
    signal.addEventListener('abort', abort, { once: true })
    try {
      await this.#inside(span, run)
    } catch (error) {
      endWith(span, error)
      throw error
    } finally {
      signal.removeEventListener('abort', abort)
      unthrown(() => span.isRecording() && span.end())
    }
  }

  #begin({ event, context }: Surrounded): Span {
    const { attempt, delivery, handler } = context
    const name = observedName(event.name, event.known)
    return this.#tracer.startSpan(`process ${name}`, {
      kind: SpanKind.CONSUMER,
      links: unthrown(() => this.#senderOf(delivery.headers)),
      attributes: {
        ...labelled({ operation: 'process', name, vendor: event.vendor, handler }),
        'messaging.message.id': event.id,
        'messaging.message.body.size': delivery.body.length,
        'idv_webhooks.attempt': attempt,
        'idv_webhooks.source': event.source,
      },
    })
  }

  #inside(span: Span, run: Surrounded['run']): Promise<unknown> {
    const { trace, context: contexts } = this.#api
    let running: Promise<unknown> | undefined
    const once = () => {
      running ??= run()
      return running
    }
    // A context manager may return its own promise: ignore its rejection.
    unthrown(() => ignoreRejection(contexts.with(trace.setSpan(contexts.active(), span), once)))
    return once()
  }

  /** A link and not a parent: the sender must not decide what is sampled. */
  #senderOf(headers: HeaderList): Link[] {
    const { propagation, trace } = this.#api
    const extracted = propagation.extract(ROOT_CONTEXT, headers, headerGetter)
    const sender = trace.getSpanContext(extracted)
    return sender ? [{ context: sender }] : []
  }
}

/** Only the class of the error: its text may hold a person's data. */
function endWith(span: Span, error: unknown): void {
  unthrown(() => {
    if (!span.isRecording()) return
    const [type = 'unknown'] = describeError(error).split(' ', 1)
    span.setAttribute('error.type', type)
    span.setStatus({ code: SpanStatusCode.ERROR, message: type })
    span.end()
  })
}

/** Asks the application's telemetry; undefined if it throws, for example in a span processor. */
export function unthrown<Result>(ask: () => Result): Result | undefined {
  let answer: Result | undefined
  warnIfItThrows('openTelemetry().around', () => {
    answer = ask()
  })
  return answer
}
