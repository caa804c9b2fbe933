// What a header's text can be taken for: a moment, in any of the spellings that senders use.

/** Seconds since the epoch: from 1973 to the year 5138. The only spelling that a scheme can sign. */
export function isSeconds(text: string): boolean {
  return /^\d{9,11}$/.test(text)
}

/** A moment in a spelling that no scheme can sign: what it is called, for people. */
export function otherMoment(text: string): string | undefined {
  if (/^1\d{12}$/.test(text)) return 'milliseconds'
  if (/^1\d{15}$/.test(text)) return 'microseconds'
  if (/^1\d{18}$/.test(text)) return 'nanoseconds'
  if (/^1\d{9}\.\d+$/.test(text)) return 'fractions of a second'
  const isText = /^\d{4}-\d\d-\d\d[T ]|^\d{8}T\d{6}Z$|^[A-Z][a-z]{2}, \d/.test(text)
  return isText ? 'a date in words (ISO 8601 or the like)' : undefined
}

/** Whether a text reads as a moment in any spelling: then it is no id. */
export function readsAsMoment(text: string): boolean {
  return isSeconds(text) || otherMoment(text) !== undefined
}
