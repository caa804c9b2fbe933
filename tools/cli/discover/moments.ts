// Header values that read as a moment, in any of the spellings that senders use.

/** Seconds since the epoch, from 1973 to the year 5138. */
export function isSeconds(text: string): boolean {
  return /^\d{9,11}$/.test(text)
}

const otherMoments = [
  // Milliseconds, microseconds, nanoseconds, fractions of a second.
  /^1\d{12}$|^1\d{15}$|^1\d{18}$|^1\d{9}\.\d+$/,
  // ISO 8601 and the dates of HTTP.
  /^\d{4}-\d\d-\d\d[T ]|^\d{8}T\d{6}Z$|^[A-Z][a-z]{2}, \d/,
]

/** Whether a value reads as a moment: then it is not an id. */
export function readsAsMoment(text: string): boolean {
  return isSeconds(text) || otherMoments.some((pattern) => pattern.test(text))
}
