// How far the service's clock is behind ours, by the `Date` of its responses: what happened at one
// time by our clock may have an earlier one by the service's.

export class ServiceClock {
  /** Milliseconds, 0 if it is ahead of ours; undefined before the first response with a `Date`. */
  behind: number | undefined

  /** Learns from a response that was complete at a time of ours. */
  learn(headers: Headers, at: Date): void {
    const date = Date.parse(headers.get('date') ?? '')
    if (!Number.isNaN(date)) this.behind = Math.max(0, at.getTime() - date)
  }
}
