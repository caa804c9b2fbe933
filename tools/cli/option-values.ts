// Readers of option values: numbers, addresses, texts, points in time and durations.
import { InvalidArgumentError, Option } from 'commander'
import { suggestion } from '../../src/foundation/check.ts'
import type { Clock } from '../../src/index.ts'
import { vendors } from '../../src/vendors/index.ts'

export function numberFrom(least: number, most = Number.MAX_SAFE_INTEGER) {
  return (text: string): number => {
    const value = Number(text)
    if (text.trim() !== '' && value >= least && value <= most) return value
    const range =
      most === Number.MAX_SAFE_INTEGER ? `, ${least} or more` : ` from ${least} to ${most}`
    throw new InvalidArgumentError(`Pass a number${range}.`)
  }
}

export const wholeFrom = (least: number, most?: number) => (text: string) => {
  const value = numberFrom(least, most)(text)
  if (Number.isInteger(value)) return value
  throw new InvalidArgumentError('Pass a whole number.')
}

/** The longest time that a timer waits: 24.8 days. Beyond it a timer fires immediately. */
const maxSeconds = 2_147_483

export const timeoutOption = (description: string, seconds: number) =>
  new Option('--timeout <seconds>', description)
    .argParser(numberFrom(0.001, maxSeconds))
    .default(seconds)

export function addressFrom(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol)) return url.href
  throw new InvalidArgumentError('Pass an address such as http://localhost:3000/webhooks.')
}

export function vendorFrom(text: string): string {
  const names = Object.keys(vendors)
  if (names.includes(text)) return text
  throw new InvalidArgumentError(`Pass one of ${names.join(', ')}.${suggestion(text, names)}`)
}

/** Reads an option that is not empty: an unset variable of the shell would mean everything. */
export function someText(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It is empty: leave the option out, or pass a text.')
}

/** Reads each value of a repeatable option and collects them in order. */
export function repeating<Item>(read: (text: string) => Item) {
  return (text: string, before: readonly Item[] = []): Item[] => [...before, read(text)]
}

export const repeated = repeating((text) => text)

const units: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1000, m: 60_000 },
  ...{ h: 3_600_000, d: 86_400_000 },
}

function millisecondsOf(text: string, form: RegExp): number | undefined {
  const [, many, unit = ''] = form.exec(text) ?? []
  return many === undefined ? undefined : Number(many) * (units[unit] ?? 0)
}

/** A date is UTC; a time of day needs its zone, or each machine would read another time. */
const iso = /^\d{4}-\d\d(-\d\d)?$|^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i

/** Reads an option that is a point in time: ISO 8601, or how long ago (30m, 12h, 7d). */
export const momentFrom = (now: Clock) => (text: string) => {
  const age = millisecondsOf(text, /^(\d+)([mhd])$/)
  const moment = new Date(age === undefined ? text : now().getTime() - age)
  if ((age !== undefined || iso.test(text)) && !Number.isNaN(moment.getTime())) return moment
  const examples = '2026-03-01T10:00:00Z, or an age such as 12h or 7d'
  throw new InvalidArgumentError(`Pass a time such as ${examples}.`)
}

/** Reads an option that is a duration, in milliseconds: 500ms, 60s, 15m, 2h, 7d. */
export function durationFrom(text: string): number {
  const duration = millisecondsOf(text, /^(\d+)(ms|[smhd])$/) ?? 0
  if (duration > 0 && duration <= 2_147_483_647) return duration
  throw new InvalidArgumentError('Pass a duration such as 500ms, 60s, 15m or 2h, up to 24d.')
}
