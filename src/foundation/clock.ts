// The one place that reads the time; everything else is handed a `now`.

/** Tells the time. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/** The time as no correction of the system's clock can move it while the process lives. */
export const steadyClock: Clock = () => new Date(performance.timeOrigin + performance.now())
