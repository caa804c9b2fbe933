// Options of every call of the client, including the lookup after an unknown outcome.

/** The options of every call. */
export interface CallOptions {
  /**
   * Ends the call and its waits with the signal's reason. A create call that was already sent
   * ends in `OutcomeUnknownError`, with the reason as its cause.
   */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for each attempt; the client's `timeout` by default. */
  readonly timeout?: number | undefined
}

export const callOptionNames: readonly (keyof CallOptions)[] = ['signal', 'timeout']

/** By symbol, so that a client of the package's other copy, or a wrapper around one, passes it on. */
const background: unique symbol = Symbol.for('idv-webhooks.background')

interface BackgroundOptions extends CallOptions {
  readonly [background]?: true
}

/** The options of reads that can wait: they leave half of the limiter's rate to other calls. */
export function inBackground(options: CallOptions): CallOptions {
  const marked: BackgroundOptions = { ...options, [background]: true }
  return marked
}

/** Whether a call can wait. */
export function isInBackground(options: BackgroundOptions | undefined): boolean {
  return options?.[background] === true
}
