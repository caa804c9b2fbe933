// What every call of the client takes, the look-up of a lost creation too.

/** What every call takes. */
export interface CallOptions {
  /**
   * Ends the call, its waits included, with the signal's reason; a creation that was already on its
   * way ends in `OutcomeUnknownError`, with the reason as its cause.
   */
  readonly signal?: AbortSignal
  /** Milliseconds for each attempt; the client's `timeout` by default. */
  readonly timeout?: number
}
