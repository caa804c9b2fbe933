// Records the events that a receiver dispatches, so that a test can wait for one without sleeping.
import type { Context, Handler } from '../dispatch/handler.ts'
import type { Matching, PatternOrLegacy } from '../dispatch/patterns.ts'
import type { UnknownEvent, WebhookEvent } from '../protocol/events.ts'
import { covers, isEventName } from '../protocol/names.ts'

/** The part of a receiver that a recorder uses; `fallback` tells the types of its events. */
export interface RecordedReceiver<Event = WebhookEvent> {
  on(pattern: never, handler: never, options?: { readonly id?: string }): unknown
  fallback?(handler: (event: Event, context: unknown) => unknown): unknown
}

/** One event as a handler got it. */
export interface Recorded<Event = WebhookEvent> {
  readonly event: Event
  readonly context: Context
}

type NameOf<Event> = Event extends { readonly name: infer Name extends string } ? Name : never

type EventsOf<Event> = {
  readonly [Known in Exclude<Event, UnknownEvent> as NameOf<Known>]: Known
}

/** The events that a name, a family or `*` stands for; any event for another text. */
type EventFor<Event, P extends string> = [Matching<EventsOf<Event>, P>] extends [never]
  ? Event
  : Matching<EventsOf<Event>, P>

interface WaitOptions {
  /** Milliseconds, 5,000 by default. */
  readonly timeout?: number
}

/** The events dispatched so far. */
export interface Recorder<Event = WebhookEvent> {
  /** Every event and its context, in order of arrival. */
  readonly calls: readonly Recorded<Event>[]
  /** The events of `calls`. */
  readonly events: readonly Event[]
  /**
   * Resolves with the first event, past or future, that has a name, is of a family
   * (`verification.*`; `*` is any event) or satisfies a function. Rejects after `timeout`
   * milliseconds, 5,000 by default, and lists the events that arrived instead.
   */
  waitFor<const P extends PatternOrLegacy<EventsOf<Event>> | (string & Record<never, never>)>(
    wanted: P,
    options?: WaitOptions,
  ): Promise<EventFor<Event, P>>
  waitFor<Found extends Event>(
    wanted: (event: Event) => event is Found,
    options?: WaitOptions,
  ): Promise<Found>
  waitFor(wanted: (event: Event) => boolean, options?: WaitOptions): Promise<Event>
  /** Forgets the events recorded so far. */
  clear(): void
}

/**
 * Registers a handler that records events, of every name or of the given patterns.
 *
 * @example
 * const recorder = recordHandlers(receiver)
 * const event = await recorder.waitFor('verification.approved')
 */
export function recordHandlers<Event = WebhookEvent>(
  receiver: RecordedReceiver<Event>,
  patterns: string | readonly string[] = '*',
): Recorder<Event> {
  const calls: Recorded[] = []
  const waiting = new Set<(event: WebhookEvent) => void>()
  const record: Handler = (event, context) => {
    calls.push({ event, context })
    for (const notify of waiting) notify(event)
  }
  // A recorder takes receivers of any event types, so the typing of their `on` is ignored.
  receiver.on(patterns as never, record as never)
  const recorder = {
    get calls() {
      return [...calls]
    },
    get events() {
      return calls.map(({ event }) => event)
    },
    waitFor: async (
      wanted: string | ((event: WebhookEvent) => boolean),
      { timeout = 5000 }: WaitOptions = {},
    ) => {
      // Taken now: in a timer the stack no longer has the caller's line.
      const late = new Error()
      Error.captureStackTrace?.(late, recorder.waitFor)
      const fits = typeof wanted === 'function' ? wanted : named(wanted)
      const past = calls.find(({ event }) => fits(event))
      if (past) return past.event
      const { promise, resolve, reject } = Promise.withResolvers<WebhookEvent>()
      const notify = (event: WebhookEvent) => fits(event) && resolve(event)
      const timer = setTimeout(() => {
        const arrived = calls.map(({ event }) => event.name).join(', ') || 'nothing'
        const what = typeof wanted === 'string' ? wanted : 'the event'
        late.message = `${what} did not arrive within ${timeout} ms; arrived: ${arrived}`
        // Some runtimes begin the stack with the message.
        const frames = /\n {4}at .*/s.exec(late.stack ?? '')?.[0]
        if (frames) late.stack = `Error: ${late.message}${frames}`
        reject(late)
      }, timeout)
      waiting.add(notify)
      return promise.finally(() => {
        clearTimeout(timer)
        waiting.delete(notify)
      })
    },
    clear: () => {
      calls.length = 0
    },
  }
  // Trust is granted here: the type of the receiver chose the types of its events.
  return recorder as unknown as Recorder<Event>
}

/**
 * Matches a name of the service with the event's name, and any other name also with the received
 * name.
 */
function named(wanted: string) {
  return ({ name, receivedName, known }: WebhookEvent) => {
    if (wanted === '*') return true
    if (wanted.endsWith('.*'))
      return known && (covers(wanted, name) || covers(wanted, receivedName))
    return name === wanted || (receivedName === wanted && !isEventName(wanted))
  }
}
