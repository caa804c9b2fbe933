// Times: exact and relative, in the reader's zone. "Now" is the server's, whose clock may be frozen.
import { signal } from '@preact/signals'
import { resync } from './server.ts'

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

export const zone =
  new Intl.DateTimeFormat('en', { timeZoneName: 'short' })
    .formatToParts()
    .find(({ type }) => type === 'timeZoneName')?.value ?? ''

/** A time of the day, with its date if that is not today. */
export function clockTime(at: string | number): string {
  const date = new Date(at)
  const now = new Date(serverNow())
  const time = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const
  if (now.toDateString() === date.toDateString()) {
    return date.toLocaleTimeString('en-GB', { ...time, second: '2-digit' })
  }
  const year = now.getFullYear() === date.getFullYear() ? undefined : 'numeric'
  return date.toLocaleString('en-GB', { day: 'numeric', month: 'short', year, ...time })
}

const units = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
] as const

const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' })

function relative(seconds: number): string {
  if (Math.abs(seconds) < 5) return 'now'
  // 59.6 minutes are an hour.
  const isLong = ([, length]: (typeof units)[number]) => Math.abs(seconds) > 0.99 * length
  const [unit, length] = units.find(isLong) ?? ['second', 1]
  return words.format(Math.round(seconds / length), unit)
}

export function Time({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="muted">–</span>
  tick.value
  const date = new Date(at)
  return (
    <time dateTime={date.toISOString()} title={`${date.toISOString()} (UTC)`}>
      <span>{clockTime(at)}</span>{' '}
      <span class="muted">{relative(Math.round((date.getTime() - serverNow()) / 1000))}</span>
    </time>
  )
}

export function Now() {
  tick.value
  const [day, time] = new Date(serverNow()).toISOString().split(/T|\./)
  return <span data-testid="now">{`${day} ${time} UTC`}</span>
}

export function duration(ms: number | undefined): string {
  if (ms === undefined) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}

/** The spans of a filter by time: words and seconds. */
export const spans: Readonly<Record<string, readonly [words: string, seconds: number]>> = {
  '15m': ['last 15 minutes', 900],
  '1h': ['last hour', 3600],
  '24h': ['last 24 hours', 86_400],
  '7d': ['last 7 days', 604_800],
}

export const since = (label: string) => {
  const choices = Object.entries(spans).map(([key, [words]]) => [key, words] as const)
  return { name: 'since', label, choices }
}

/** The beginning of a span that ends now; a time as it is. */
export function startOf(span: string | undefined): string | undefined {
  const [, seconds] = spans[span ?? ''] ?? []
  return seconds === undefined ? span : new Date(serverNow() - seconds * 1000).toISOString()
}
