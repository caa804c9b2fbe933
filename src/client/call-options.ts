/** The options of every call, including the lookup after an unknown outcome. */
export interface CallOptions {
  /**
   * Ends the call and its waits with the signal's reason. A create call that was already sent
   * ends in `OutcomeUnknownError`, with the reason as its cause.
   */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for each attempt; the client's `timeout` by default. */
  readonly timeout?: number | undefined
  /** Leaves half of the limiter's rate to other calls; for reads that can wait. */
  readonly background?: boolean | undefined
}
