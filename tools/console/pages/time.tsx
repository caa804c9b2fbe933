// Times: exact and relative, in the reader's zone. "Now" is the server's, whose clock may be frozen.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'
import { resync } from './load.ts'

/** How far the server's clock is ahead of this one, in milliseconds; or where it stands still. */
const serverClock = signal<{ readonly offset: number; readonly frozenAt?: number }>({ offset: 0 })
const tick = signal(0)
setInterval(() => {
  tick.value++
}, 1000)

/** Takes what the server says of the time; after a jump, filters by time are read again. */
export function setServerClock(now: string | number, frozen: boolean): void {
  const time = new Date(now).getTime()
  if (Math.abs(time - serverNow()) > 2000) resync.value++
  serverClock.value = frozen ? { offset: 0, frozenAt: time } : { offset: time - Date.now() }
}

export function serverNow(): number {
  const { offset, frozenAt } = serverClock.value
  return frozenAt ?? Date.now() + offset
}

/** The short name of the reader's time zone. */
export const zone =
  new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
    .formatToParts()
    .find(({ type }) => type === 'timeZoneName')?.value ?? ''

/** A time of the day, with its date if that is not today. */
export function clockTime(at: string | number): string {
  const date = new Date(at)
  const now = new Date(serverNow())
  const isToday = now.toDateString() === date.toDateString()
  const year = now.getFullYear() === date.getFullYear() ? {} : ({ year: 'numeric' } as const)
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  return isToday
    ? date.toLocaleTimeString('en-GB', { ...time, second: '2-digit' })
    : date.toLocaleString('en-GB', { day: 'numeric', month: 'short', ...year, ...time })
}

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' })

function relative(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1000)
  if (Math.abs(seconds) < 5) return 'now'
  for (const [at, [unit, length]] of units.entries()) {
    // 59.6 minutes are an hour.
    const [, smaller] = units[at + 1] ?? ['second', 1]
    const rounded = Math.round(Math.abs(seconds) / smaller) * smaller
    if (rounded >= length) return words.format(Math.round(seconds / length), unit)
  }
  return words.format(seconds, 'second')
}

export function Time({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="muted">–</span>
  tick.value
  const date = new Date(at)
  return (
    <time dateTime={date.toISOString()} title={`${date.toISOString()} (UTC)`}>
      <span>{clockTime(at)}</span>{' '}
      <span class="muted">{relative(date.getTime(), serverNow())}</span>
    </time>
  )
}

/** A length of time in milliseconds, for people. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}

const spans: Readonly<Record<string, number>> = {
  '15m': 900,
  '1h': 3600,
  '24h': 86_400,
  '7d': 604_800,
}

/** The choices of a filter by time. */
export const spanChoices = [
  ['15m', 'last 15 minutes'],
  ['1h', 'last hour'],
  ['24h', 'last 24 hours'],
  ['7d', 'last 7 days'],
] as const

/** The beginning of a span that ends now; undefined for an unknown span. */
export function spanStart(span: string | null | undefined): string | undefined {
  const seconds = spans[span ?? '']
  return seconds === undefined ? undefined : new Date(serverNow() - seconds * 1000).toISOString()
}
