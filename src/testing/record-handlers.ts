// Records what a receiver dispatches, so that a test can wait for it without sleeping.
import type { Context, Handler } from '../dispatch/handler.ts'
import type { WebhookEvent } from '../protocol/events.ts'

/** The part of a receiver that a recorder uses. */
export interface RecordedReceiver {
  on(pattern: never, handler: never, options?: { readonly id?: string }): unknown
}

/** One event as a handler got it. */
export interface Recorded {
  readonly event: WebhookEvent
  readonly context: Context
}

/** The events dispatched so far. */
export interface Recorder {
  /** Every event and its context, in order of arrival. */
  readonly calls: readonly Recorded[]
  /** The events alone. */
  readonly events: readonly WebhookEvent[]
  /**
   * Resolves with the first event, past or future, that has a name or satisfies a function. Rejects
   * after `timeout` milliseconds, 5,000 by default, and lists the events that arrived instead.
   */
  waitFor(
    wanted: string | ((event: WebhookEvent) => boolean),
    options?: { readonly timeout?: number },
  ): Promise<WebhookEvent>
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
export function recordHandlers(
  receiver: RecordedReceiver,
  patterns: string | readonly string[] = '*',
): Recorder {
  const calls: Recorded[] = []
  const waiting = new Set<(event: WebhookEvent) => void>()
  const record: Handler = (event, context) => {
    calls.push({ event, context })
    for (const notify of waiting) notify(event)
  }
  // A recorder takes receivers of any event types, so the typing of their `on` is ignored.
  receiver.on(patterns as never, record as never)
  return {
    get calls() {
      return [...calls]
    },
    get events() {
      return calls.map(({ event }) => event)
    },
    waitFor: async (wanted, { timeout = 5000 } = {}) => {
      const fits = typeof wanted === 'function' ? wanted : nameIs(wanted)
      const past = calls.find(({ event }) => fits(event))
      if (past) return past.event
      const { promise, resolve, reject } = Promise.withResolvers<WebhookEvent>()
      const notify = (event: WebhookEvent) => fits(event) && resolve(event)
      const timer = setTimeout(() => {
        const arrived = calls.map(({ event }) => event.name).join(', ') || 'nothing'
        const what = typeof wanted === 'string' ? wanted : 'the event'
        reject(new Error(`${what} did not arrive within ${timeout} ms; arrived: ${arrived}`))
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
}

function nameIs(name: string) {
  return (event: WebhookEvent) => event.name === name || event.receivedName === name
}
