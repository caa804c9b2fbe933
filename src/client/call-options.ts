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
