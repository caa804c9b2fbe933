// Writes down what a receiver dispatches, so that a test can wait for it without sleeping.
import type { Context, Handler } from '../dispatch.ts'
import type { WebhookEvent } from '../protocol/events.ts'

/** What a recorder needs of a receiver. */
export interface RecordedReceiver {
  on(pattern: never, handler: never, options?: { readonly id?: string }): unknown
}

/** One event as a handler got it. */
export interface Recorded {
  readonly event: WebhookEvent
  readonly context: Context
}

/** What was dispatched so far. */
export interface Recorder {
  /** Every event and its context, in the order in which they came. */
  readonly calls: readonly Recorded[]
  /** The events alone. */
  readonly events: readonly WebhookEvent[]
  /**
   * The first event of a name, or for which a function says yes, past or to come; rejects after
   * `timeout` milliseconds, 5,000 by default, and says what came instead.
   */
  waitFor(
    wanted: string | ((event: WebhookEvent) => boolean),
    options?: { readonly timeout?: number },
  ): Promise<WebhookEvent>
  /** Forgets what came so far. */
  clear(): void
}

/**
 * Registers a handler that writes down events, for every event or for the patterns given.
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
    for (const tell of waiting) tell(event)
  }
  // A recorder takes receivers of any event types, so their own typing of `on` is set aside.
  receiver.on(patterns as never, record as never)
  return {
    get calls() {
      return [...calls]
    },
    get events() {
      return calls.map(({ event }) => event)
    },
    waitFor: (wanted, { timeout = 5000 } = {}) => {
      const fits = typeof wanted === 'function' ? wanted : nameIs(wanted)
      const past = calls.find(({ event }) => fits(event))
      if (past) return Promise.resolve(past.event)
      return new Promise((resolve, reject) => {
        const tell = (event: WebhookEvent) => {
          if (!fits(event)) return
          end()
          resolve(event)
        }
        const timer = setTimeout(() => {
          end()
          const came = calls.map(({ event }) => event.name).join(', ') || 'nothing'
          const what = typeof wanted === 'string' ? wanted : 'the event'
          reject(new Error(`${what} did not come within ${timeout} ms; came: ${came}`))
        }, timeout)
        const end = () => {
          clearTimeout(timer)
          waiting.delete(tell)
        }
        waiting.add(tell)
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
