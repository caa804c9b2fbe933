// The one place that reads the time; everything else is handed a `now`.

/** Tells the time. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()
