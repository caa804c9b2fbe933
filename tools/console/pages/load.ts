// Data of the server: requested, and requested again when server-sent events say that it may have
// changed. After a lost connection everything on the page is requested again.
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, Problem } from './call.ts'

/** `unavailable`: the server is there, but what it shows cannot be read. */
export type LiveState = 'connecting' | 'live' | 'offline' | 'unavailable'

export const liveState = signal<LiveState>('connecting')
/** Grows whenever what is shown must be requested again. */
export const resync = signal(0)

/** Passes on the events of whichever connection there is. */
const bus = new EventTarget()
const types = ['stats', 'changed', 'delivery', 'verification', 'client', 'subscription', 'mail']
const stateTypes = ['clock', 'faults', 'organizations', 'state']

/** Listens to one type of event; returns the function that ends it. */
export function listen<Data>(type: string, listener: (data: Data) => void): () => void {
  const own = (event: Event) => listener(JSON.parse((event as MessageEvent<string>).data))
  bus.addEventListener(type, own)
  return () => bus.removeEventListener(type, own)
}

/** Connects, and connects again whenever the connection is lost. */
export function connect(url: string): void {
  const source = new EventSource(url)
  for (const type of [...types, ...stateTypes]) {
    source.addEventListener(type, ({ data }) => bus.dispatchEvent(new MessageEvent(type, { data })))
  }
  const becomeLive = () => {
    liveState.value = 'live'
    // Earlier events were missed, on the first connection too.
    resync.value++
  }
  source.addEventListener('open', becomeLive)
  source.addEventListener('available', becomeLive)
  source.addEventListener('unavailable', () => {
    liveState.value = 'unavailable'
  })
  source.addEventListener('error', () => {
    liveState.value = 'offline'
    // A response that is not a stream closes the source for good.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => connect(url), 1500)
  })
}

export interface Loaded<Data> {
  readonly data: Data | undefined
  readonly problem: Problem | undefined
  reload(): void
}

/** A request for data; `on` names the events after which it is sent again. */
export interface Loading<Data> {
  readonly ask: (signal: AbortSignal) => Promise<Data>
  /** When the key changes, the data is another. */
  readonly key: string
  /** When the size changes, the data is requested again, and shown until it comes. */
  readonly size?: number
  readonly on?: readonly string[]
}

/** The whole list at a path. */
export function useList<Item>(path: string, on: readonly string[]): Loaded<readonly Item[]> {
  const ask = async (signal: AbortSignal) =>
    (await call<{ readonly data: readonly Item[] }>(path, { signal })).data
  return useLoad({ key: path, ask, on })
}

/** Milliseconds between two requests for the same data, however many events arrive. */
const pauseMs = 250

interface LoadState<Data> {
  readonly key: string
  readonly data?: Data | undefined
  readonly problem?: Problem | undefined
}

export function useLoad<Data>({ ask, key, size, on = [] }: Loading<Data>): Loaded<Data> {
  const [state, set] = useState<LoadState<Data>>({ key })
  const [turn, setTurn] = useState(0)
  const asking = useRef(ask)
  asking.current = ask
  const reload = () => setTurn((before) => before + 1)
  const resyncs = resync.value

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is requested
  useEffect(() => {
    const own = new AbortController()
    const fail = (error: unknown) => {
      if (own.signal.aborted) return
      const problem = error instanceof Problem ? error : new Problem(0, { message: String(error) })
      // Data stays while the server is unreachable, but not when it is refused or gone.
      const isPassing = problem.status === 0 || problem.status >= 500
      set((before) => ({
        key,
        data: isPassing && before.key === key ? before.data : undefined,
        problem,
      }))
    }
    const take = (data: Data) => {
      if (!own.signal.aborted) set({ key, data })
    }
    asking.current(own.signal).then(take, fail)
    return () => own.abort()
  }, [key, size, turn, resyncs])

  const names = on.join(' ')
  // biome-ignore lint/correctness/useExhaustiveDependencies: reload is the same in effect
  useEffect(() => {
    let waiting: ReturnType<typeof setTimeout> | undefined
    const later = () => {
      waiting ??= setTimeout(() => {
        waiting = undefined
        reload()
      }, pauseMs)
    }
    const ends = names.split(' ').map((type) => listen(type, later))
    return () => {
      for (const end of ends) end()
      clearTimeout(waiting)
    }
  }, [names])

  const fits = state.key === key
  return { data: fits ? state.data : undefined, problem: fits ? state.problem : undefined, reload }
}

export interface Rows<Item> {
  readonly items: readonly Item[]
  readonly total?: number | undefined
  readonly hasMore: boolean
}

export interface GrowingList<Item> extends Rows<Item> {
  readonly problem: Problem | undefined
  readonly isLoaded: boolean
  /** Shows further rows. */
  more(): void
}

const step = 100
/** A page with more rows is slow; filters find the rest. */
export const maxRows = 2000

interface AskingRows<Item> extends Omit<Loading<Rows<Item>>, 'ask' | 'size'> {
  readonly ask: (size: number, signal: AbortSignal) => Promise<Rows<Item>>
}

/** The newest rows of a list, which grows as the reader asks for more. */
export function useRows<Item>({ ask, key, on = [] }: AskingRows<Item>): GrowingList<Item> {
  const [grown, grow] = useState({ key, size: step })
  const size = grown.key === key ? grown.size : step
  const { data, problem } = useLoad({ key, size, on, ask: (signal) => ask(size, signal) })
  const { items = [], total, hasMore = false } = data ?? {}
  return {
    items,
    total,
    hasMore: hasMore && size < maxRows,
    problem,
    isLoaded: data !== undefined,
    more: () => grow({ key, size: Math.min(maxRows, size + (size === step ? 400 : 500)) }),
  }
}
