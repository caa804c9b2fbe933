// createReceiver: a frozen object of on, fallback, receive, handle and drain. Only `stepsOf`
// reaches its steps.

import type { Delivery } from './delivery.ts'
import type { Handler, HandlerOptions } from './dispatch/handler.ts'
import type {
  EventsWith,
  Matching,
  Pattern,
  PatternOrLegacy,
  ResourceOf,
} from './dispatch/patterns.ts'
import { blamingCaller } from './errors.ts'
import { checkOptionNames } from './foundation/check.ts'
import { receiverSteps } from './host/brands.ts'
import type { Incoming } from './intake/intake.ts'
import { warnIfWeak } from './observe/observers.ts'
import type { ReceiverOptions } from './options.ts'
import type { Outcome } from './outcome/outcome.ts'
import type { Reply } from './outcome/reply.ts'
import { fromDelivery, fromRecord, fromRequest } from './pipeline.ts'
import type { EventMap } from './protocol/events.ts'
import type { SchemaMap } from './protocol/meanings.ts'
import { Steps } from './steps.ts'

/**
 * Takes deliveries, proves them and hands their events to the handlers. `Tx` is what they get as
 * `context.tx`: the inbox says.
 */
export interface Receiver<Events = EventMap, Tx = unknown> {
  /**
   * Registers a handler for an event name, several, a family (`verification.*`) or `*`.
   *
   * @throws WebhookError `EVENT_NAME_UNKNOWN`, `HANDLER_INVALID`, `REGISTERED_TOO_LATE`
   */
  on<const P extends Pattern<Events>>(
    pattern: P | readonly P[],
    handler: Handler<Matching<Events, P>, ResourceOf<P>, Tx>,
    options?: HandlerOptions,
  ): this
  /** @deprecated `request.*` is the older name: register the `verification.*` name. */
  on<const P extends PatternOrLegacy<Events>>(
    pattern: P | readonly P[],
    handler: Handler<Matching<Events, P>, ResourceOf<P>, Tx>,
    options?: HandlerOptions,
  ): this
  /** Registers a handler for events that no other matched, unknown names among them. */
  fallback(handler: Handler<Matching<Events, '*'>, unknown, Tx>, options?: HandlerOptions): this
  /** Verifies and handles a delivery; never throws for what a sender did. */
  receive(delivery: Delivery): Promise<Outcome>
  /** Takes a request over HTTP; adapters call it. */
  handle(incoming: Incoming): Promise<Reply>
  /**
   * Takes no more deliveries (503) and resolves when those at work have ended; handlers are
   * aborted after `grace` milliseconds, 10,000 by default.
   */
  drain(options?: { readonly grace?: number }): Promise<void>
}

/**
 * Creates a receiver.
 *
 * @throws WebhookError `SECRET_INVALID`, `SCHEME_INVALID`, `SCHEMA_INVALID`, `OPTION_INVALID` or
 * `INBOX_INVALID`, saying how to mend it
 * @example
 * const receiver = createReceiver({ secret: process.env.WEBHOOK_SECRET })
 * receiver.on('verification.approved', async (event) => activate(event.data.id))
 */
export function createReceiver<const Schemas extends SchemaMap, Tx = undefined>(
  options: ReceiverOptions<Schemas, Tx> & { readonly schemas: Schemas },
): Receiver<EventsWith<Schemas>, Tx>
export function createReceiver<Tx = undefined>(
  options: ReceiverOptions<Record<never, never>, Tx>,
): Receiver<EventMap, Tx>
export function createReceiver<Events, Tx>(options: ReceiverOptions): Receiver<Events, Tx> {
  const steps = blamingCaller(createReceiver, () => new Steps(options))
  warnIfWeak(options.secret)
  const receiver: Receiver<Events, Tx> = {
    // Trust is granted here: the pattern's type chose the type of the event.
    on(pattern: string | readonly string[], handler: unknown, more?: HandlerOptions) {
      blamingCaller(receiver.on, () => steps.dispatcher.on(pattern, handler as Handler, more))
      return receiver
    },
    fallback(handler: unknown, more?: HandlerOptions) {
      const register = () => steps.dispatcher.fallback(handler as Handler, more)
      blamingCaller(receiver.fallback, register)
      return receiver
    },
    receive: (delivery: Delivery) => fromDelivery(steps, delivery),
    handle: (incoming: Incoming) => fromRequest(steps, incoming),
    async drain(more: { readonly grace?: number } = {}) {
      checkOptionNames('receiver.drain', more, ['grace'])
      await steps.drain(more)
    },
  }
  const ingest = (body: Uint8Array, tenant?: string) => fromRecord(steps, body, tenant)
  Object.defineProperty(receiver, receiverSteps, { value: Object.assign(steps, { ingest }) })
  return Object.freeze(receiver)
}
