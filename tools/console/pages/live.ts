// Live server-sent events, passed on once per frame. After a lost
// connection everything on the page is asked for again, so that nothing is missed in between.
import { batch, signal } from '@preact/signals'

/** `unavailable`: the server is there, but what it shows cannot be read. */
export type LiveState = 'connecting' | 'live' | 'lost' | 'unavailable'

export const liveState = signal<LiveState>('connecting')
/** Grows whenever what is shown must be asked for again. */
export const resync = signal(0)

type Listener = (data: never) => void

const listeners = new Map<string, Set<Listener>>()
let waiting: { readonly type: string; readonly data: unknown }[] = []
let source: EventSource | undefined
let address = ''

/** Listens to one type of event; gives the end of it. */
export function listen<Data>(type: string, listener: (data: Data) => void): () => void {
  const own = listener as Listener
  const known = listeners.get(type) ?? new Set()
  listeners.set(type, known.add(own))
  if (known.size === 1) source?.addEventListener(type, take as EventListener)
  return () => {
    known.delete(own)
    if (known.size === 0) source?.removeEventListener(type, take as EventListener)
  }
}

/** Connects, and connects again whenever the connection is lost. */
export function connect(url: string): void {
  address = url
  source?.close()
  const own = new EventSource(url)
  source = own
  for (const [type, known] of listeners) {
    if (known.size > 0) own.addEventListener(type, take as EventListener)
  }
  own.addEventListener('open', () => {
    liveState.value = 'live'
    // Earlier events were missed, on the first connection too.
    resync.value++
  })
  own.addEventListener('unavailable', () => {
    liveState.value = 'unavailable'
  })
  own.addEventListener('available', () => {
    liveState.value = 'live'
    resync.value++
  })
  own.addEventListener('error', () => {
    liveState.value = 'lost'
    // An answer other than a stream closes it for good: open a new one.
    if (own.readyState === EventSource.CLOSED) setTimeout(() => connect(address), 1500)
  })
}

function take({ type, data }: MessageEvent<string>): void {
  if (waiting.length === 0) {
    if (document.hidden) setTimeout(flush, 250)
    else requestAnimationFrame(flush)
  }
  waiting.push({ type, data: JSON.parse(data) })
}

function flush(): void {
  const now = waiting
  waiting = []
  batch(() => {
    for (const { type, data } of now) {
      for (const listener of listeners.get(type) ?? []) listener(data as never)
    }
  })
}
