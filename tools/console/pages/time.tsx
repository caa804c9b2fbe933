// Times: relative for people, exact on hover. "Now" is the server's, whose clock may be frozen.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'

/** How far the server's clock is ahead of this one, in milliseconds; or where it stands still. */
const serverClock = signal<{ readonly offset: number; readonly frozenAt?: number }>({
  offset: 0,
})
const tick = signal(0)
setInterval(() => {
  tick.value++
}, 1000)

/** Takes what the server says of the time. */
export function setServerClock(now: string | number, frozen: boolean): void {
  const time = new Date(now).getTime()
  serverClock.value = frozen ? { offset: 0, frozenAt: time } : { offset: time - Date.now() }
}

export function serverNow(): number {
  const { offset, frozenAt } = serverClock.value
  return frozenAt ?? Date.now() + offset
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
    // What would be 60 minutes is an hour.
    const [, smaller] = units[at + 1] ?? ['second', 1]
    const rounded = Math.round(Math.abs(seconds) / smaller) * smaller
    if (rounded >= length) return words.format(Math.round(seconds / length), unit)
  }
  return words.format(seconds, 'second')
}

export function Time({ at }: { readonly at: string | number | null | undefined }) {
  if (at === null || at === undefined) return <span class="muted">–</span>
  const date = new Date(at)
  tick.value
  return (
    <time class="nowrap" dateTime={date.toISOString()} title={exact(date)}>
      {relative(date.getTime(), serverNow())}
    </time>
  )
}

/** The exact time, in the reader's zone and in UTC. */
function exact(date: Date): string {
  const local = date.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'long' })
  return `${local} · ${date.toISOString()}`
}

/** A length of time in milliseconds, for people. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  if (ms < 172_800_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}
