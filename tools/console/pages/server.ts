// Requests to the console's own server, and data that is requested again when a live event says that
// it may have changed. After a lost connection everything on the page is requested again.
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { InboxStats } from '../../../src/inbox/admin.ts'
import type { PageConfig } from '../page.ts'

const written = document.querySelector<HTMLMetaElement>('meta[name="idv-console"]')?.content
/** The address of the routes and the token, which the server wrote into the document. */
export const config: PageConfig & { readonly token: string } = JSON.parse(written ?? '{}')

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldProblem[]

  constructor(status: number, body: Partial<Pick<Problem, 'code' | 'message' | 'errors'>>) {
    super(body.message ?? `The server answered ${status}`)
    this.status = status
    this.code = body.code ?? 'UNKNOWN'
    this.errors = body.errors ?? []
  }
}

export interface RequestOptions {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Sends a request with the token of this page and gives its JSON; throws a Problem if it is refused. */
export async function call<Answer>(path: string, options: RequestOptions = {}): Promise<Answer> {
  const { body, headers, ...rest } = options
  const all = { 'x-console-token': config.token, 'content-type': 'application/json', ...headers }
  const sent = { ...rest, headers: all, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const response = await fetch(path, { cache: 'no-store', ...sent }).catch(() => {
    const message = 'No response from the server. Is it still running?'
    throw new Problem(0, { code: 'UNREACHABLE', message })
  })
  const content = await response.json().catch(() => ({}))
  if (!response.ok) throw new Problem(response.status, content)
  // Whatever a change was about is requested again.
  if (rest.method) resync.value++
  return content as Answer
}

/** The work of a button that sends a change: it gives the words that are said after it. */
export const change = (said: string, path: string, options: RequestOptions = {}) =>
  async function send() {
    await call(path, { method: 'POST', ...options })
    return said
  }

/** `unavailable`: the server is there, but what it shows cannot be read. */
type LiveState = 'connecting' | 'live' | 'offline' | 'unavailable'

export const liveState = signal<LiveState>('connecting')
export const stats = signal<InboxStats | undefined>(undefined)
/** Grows whenever what is shown must be requested again. */
export const resync = signal(0)

const types = ['stats', 'changed', 'delivery', 'verification', 'client', 'subscription', 'mail']
const stateTypes = ['clock', 'faults', 'organizations', 'state']
const listeners = new Set<(type: string) => void>()

/** Connects, and connects again whenever the connection is lost. */
export function connect(url: string): void {
  const source = new EventSource(url)
  for (const type of [...types, ...stateTypes]) {
    source.addEventListener(type, ({ data }) => {
      if (type === 'stats') stats.value = JSON.parse(data)
      for (const listener of listeners) listener(type)
    })
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

/** A request for data; `on` names the events after which it is sent again. */
export interface Loading<Data> {
  readonly ask: (signal: AbortSignal) => Promise<Data>
  /** When the key changes, the data is another. */
  readonly key: string
  /** When the size changes, the data is requested again, and shown until it comes. */
  readonly size?: number
  readonly on?: readonly string[]
}

export interface Loaded<Data> {
  readonly data?: Data | undefined
  readonly problem?: Problem | undefined
}

/** The JSON at a path of the server. */
export const at = <Data>(path: string, on: readonly string[] = []): Loading<Data> => {
  return { key: path, on, ask: (signal) => call<Data>(path, { signal }) }
}

export const listAt = <Item>(path: string, on: readonly string[] = []) => ({
  ...at<readonly Item[]>(path, on),
  ask: async (signal: AbortSignal) =>
    (await call<{ readonly data: readonly Item[] }>(path, { signal })).data,
})

/** Milliseconds between two requests for the same data, however many events arrive. */
const pauseMs = 250

export function useLoad<Data>({ ask, key, size, on = [] }: Loading<Data>): Loaded<Data> {
  const [state, set] = useState<Loaded<Data> & { readonly key?: string }>({})
  const [turn, setTurn] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is requested
  useEffect(() => {
    const own = new AbortController()
    const fail = (error: unknown) => {
      if (own.signal.aborted) return
      const problem = error instanceof Problem ? error : new Problem(0, { message: String(error) })
      // Data stays while the server is unreachable, but not when it is refused or gone.
      const isPassing = problem.status === 0 || problem.status >= 500
      set((old) => ({ key, problem, data: isPassing && old.key === key ? old.data : undefined }))
    }
    ask(own.signal).then((data) => own.signal.aborted || set({ key, data }), fail)
    return () => own.abort()
  }, [key, size, turn, resync.value])
  const names = on.join(' ')
  useEffect(() => {
    let waiting: ReturnType<typeof setTimeout> | undefined
    const listener = (type: string) => {
      if (waiting !== undefined || !names.split(' ').includes(type)) return
      waiting = setTimeout(() => {
        waiting = undefined
        setTurn((before) => before + 1)
      }, pauseMs)
    }
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      clearTimeout(waiting)
    }
  }, [names])
  return state.key === key ? state : {}
}
