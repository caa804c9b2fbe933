// Asks for what a page shows, and again whenever that may have changed.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Problem } from './call.ts'
import { listen, resync } from './live.ts'

export interface Loaded<Data> {
  readonly data: Data | undefined
  readonly problem: Problem | undefined
  readonly loading: boolean
  reload(): void
}

/** A request for data; `on` names the events after which it is sent again. */
export interface Asking<Data> {
  readonly ask: (signal: AbortSignal) => Promise<Data>
  /** When the key changes, the data is requested again. */
  readonly key: string
  readonly on?: readonly string[]
}

/** Between two questions for one list, however many events arrive. */
const pause = 250

export function useLoad<Data>({ ask, key, on = [] }: Asking<Data>): Loaded<Data> {
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
