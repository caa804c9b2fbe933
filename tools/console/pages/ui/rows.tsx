// A windowed list: only the rows in sight are in the document. What arrives above does not move what
// is being read; j and k move the cursor, and the focus with it.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { onKeys } from '../keys.ts'

const height = 44
const spare = 6

export interface RowsProps<Item> {
  readonly items: readonly Item[]
  readonly idOf: (item: Item) => string
  readonly hrefOf: (item: Item) => string
  readonly row: (item: Item) => ComponentChildren
  /** The grid of the row. */
  readonly kind: string
  /** Accessible name of the list. */
  readonly label: string
  readonly current?: string | undefined
  readonly empty: ComponentChildren
  readonly onEnd?: () => void
  readonly onBack?: (() => void) | undefined
}

interface Frame {
  readonly top: number
  readonly size: number
}

export function Rows<Item>(props: RowsProps<Item>) {
  const { items, idOf, kind, label, current, empty, onEnd } = props
  const box = useRef<HTMLDivElement>(null)
  const [frame, setFrame] = useState<Frame>({ top: 0, size: 800 })
  useStill(box, items, idOf)
  useCursor(box, props)

  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const measure = () => setFrame({ top: element.scrollTop, size: element.clientHeight || 800 })
    const watching = new ResizeObserver(measure)
    watching.observe(element)
    element.addEventListener('scroll', measure, { passive: true })
    return () => {
      watching.disconnect()
      element.removeEventListener('scroll', measure)
    }
  }, [])

  const first = Math.max(0, Math.floor(frame.top / height) - spare)
  const last = Math.min(items.length, Math.ceil((frame.top + frame.size) / height) + spare)
  const atEnd = last >= items.length && items.length > 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked once for each length
  useEffect(() => {
    if (atEnd) onEnd?.()
  }, [atEnd, items.length])

  return (
    <div class="rows" ref={box}>
      {items.length === 0 && empty}
      <ul aria-label={label} style={{ height: `${items.length * height}px` }}>
        {items.slice(first, last).map((item, at) => {
          const id = idOf(item)
          return (
            <li
              key={id}
              style={{ transform: `translateY(${(first + at) * height}px)` }}
              aria-setsize={items.length}
              aria-posinset={first + at + 1}
            >
              <a
                class={`row ${kind}`}
                href={props.hrefOf(item)}
                data-id={id}
                aria-current={id === current}
              >
                {props.row(item)}
              </a>
            </li>
          )
        })}
      </ul>
    </div>
  )
}

type Box = { readonly current: HTMLDivElement | null }

/** Keeps what is in sight where it is while rows arrive above it. */
function useStill<Item>(box: Box, items: readonly Item[], idOf: (item: Item) => string): void {
  const before = useRef<string | undefined>(undefined)
  useLayoutEffect(() => {
    const [newest] = items
    const known = before.current
    before.current = newest && idOf(newest)
    const element = box.current
    if (!element || known === undefined || element.scrollTop < height) return
    const moved = items.findIndex((item) => idOf(item) === known)
    if (moved > 0) element.scrollTop += moved * height
  })
}

function useCursor<Item>(box: Box, props: RowsProps<Item>): void {
  const latest = useRef(props)
  latest.current = props
  useEffect(
    () =>
      onKeys({
        move(by) {
          const { items, idOf, current } = latest.current
          const focused = document.activeElement?.getAttribute('data-id') ?? current
          const at = items.findIndex((item) => idOf(item) === focused)
          const next = Math.min(items.length - 1, Math.max(0, at + by))
          const item = items[next]
          if (item) focusRow(box.current, next, idOf(item))
        },
        back: () => latest.current.onBack?.(),
      }),
    [box],
  )
}

/** The row may not be in the document yet: it is scrolled to first. */
function focusRow(element: HTMLDivElement | null, at: number, id: string): void {
  if (!element) return
  const top = at * height
  if (top < element.scrollTop) element.scrollTop = top
  const bottom = element.scrollTop + element.clientHeight
  if (top + height > bottom) element.scrollTop = top + height - element.clientHeight
  const focus = () =>
    element
      .querySelector<HTMLElement>(`[data-id="${CSS.escape(id)}"]`)
      ?.focus({ preventScroll: true })
  focus()
  requestAnimationFrame(() => requestAnimationFrame(focus))
}
