// How far the service's clock is behind ours, by the `Date` of its answers: what we did at a time
// of ours may bear an earlier one of the service's.

/** Learns from answers. */
export interface ServiceClock {
  /** Takes note of an answer that was whole at a time of ours. */
  heard(headers: Headers, at: Date): void
  /** Milliseconds, 0 when it is ahead of ours; undefined while no answer has told. */
  readonly behind: number | undefined
}

export function createServiceClock(): ServiceClock {
  let behind: number | undefined
  return {
    heard(headers, at) {
      const date = Date.parse(headers.get('date') ?? '')
      if (!Number.isNaN(date)) behind = Math.max(0, at.getTime() - date)
    },
    get behind() {
      return behind
    },
  }
}
