// Data of the server: asked for, and asked for again when live server-sent events say that it may
// have changed. Events are passed on once a frame. After a lost connection everything on the page is
// asked for again, so that nothing is missed.
import { batch, signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, Problem } from './call.ts'

/** `unavailable`: the server is there, but what it shows cannot be read. */
export type LiveState = 'connecting' | 'live' | 'lost' | 'unavailable'

export const liveState = signal<LiveState>('connecting')
/** Grows whenever what is shown must be asked for again. */
export const resync = signal(0)

type Watcher = (data: never) => void

const listeners = new Map<string, Set<Watcher>>()
let waiting: { readonly type: string; readonly data: unknown }[] = []
let source: EventSource | undefined
let address = ''

/** Listens to one type of event; gives the end of it. */
export function listen<Data>(type: string, listener: (data: Data) => void): () => void {
  const own = listener as Watcher
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

export interface Loaded<Data> {
  readonly data: Data | undefined
  readonly problem: Problem | undefined
  readonly loading: boolean
  reload(): void
}

/** A request for data; `on` names the events after which it is sent again. */
export interface LoadRequest<Data> {
  readonly ask: (signal: AbortSignal) => Promise<Data>
  /** When the key changes, the data is requested again. */
  readonly key: string
  readonly on?: readonly string[]
}

/** The whole list at a path; `on` names the events after which it is asked for again. */
export function useList<Item>(path: string, on: readonly string[]): Loaded<readonly Item[]> {
  const ask = async (signal: AbortSignal) =>
    (await call<{ readonly data: readonly Item[] }>(path, { signal })).data
  return useLoad({ key: path, ask, on })
}

/** Between two questions for one list, however many events arrive. */
const pause = 250

export function useLoad<Data>({ ask, key, on = [] }: LoadRequest<Data>): Loaded<Data> {
  const [state, set] = useState<Omit<Loaded<Data>, 'reload'> & { readonly key: string }>({
    key,
    data: undefined,
    problem: undefined,
    loading: true,
  })
  const [turn, setTurn] = useState(0)
  const again = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const asking = useRef(ask)
  asking.current = ask
  const reload = () => setTurn((before) => before + 1)
  const resyncs = resync.value

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what the question is
  useEffect(() => {
    const own = new AbortController()
    const settle = (next: { data?: Data; problem?: Problem }) => {
      if (own.signal.aborted) return
      const { data, problem } = next
      // Data stays while the server is unreachable, but not when it is refused or gone.
      const passing = problem !== undefined && (problem.status === 0 || problem.status >= 500)
      set((before) => ({
        key,
        data: data ?? (passing && before.key === key ? before.data : undefined),
        problem,
        loading: false,
      }))
    }
    asking.current(own.signal).then(
      (data) => settle({ data }),
      (error: unknown) =>
        settle({
          problem: error instanceof Problem ? error : new Problem(0, { message: String(error) }),
        }),
    )
    return () => own.abort()
  }, [key, turn, resyncs])

  const types = on.join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: reload is the same in effect
  useEffect(() => {
    const later = () => {
      again.current ??= setTimeout(() => {
        again.current = undefined
        reload()
      }, pause)
    }
    const ends = types ? types.split(' ').map((type) => listen(type, later)) : []
    return () => {
      for (const end of ends) end()
      clearTimeout(again.current)
      again.current = undefined
    }
  }, [types])

  const fits = state.key === key
  return { ...state, data: fits ? state.data : undefined, loading: state.loading || !fits, reload }
}
