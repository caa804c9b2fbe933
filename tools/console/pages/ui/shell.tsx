// The frame of every page: where one is, where one can go, whether it is live, and the help.
/** @jsxImportSource preact */
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { config } from '../call.ts'
import { helpShown, keyWords, onKeys } from '../keys.ts'
import { liveState } from '../load.ts'
import { go, href, route } from '../route.ts'
import { Confirm, Dialog } from './confirm.tsx'
import { Facts } from './detail.tsx'
import { Toasts } from './toast.tsx'

interface NavigationItem {
  readonly path: string
  readonly title: string
  /** After `g`. */
  readonly letter: string
  readonly page: ComponentType
}

/** A page at the address that its title gives. */
export function place(title: string, letter: string, page: ComponentType): NavigationItem {
  return { path: title.toLowerCase(), title, letter, page }
}

export interface PlaceGroup {
  readonly title?: string
  readonly places: readonly NavigationItem[]
}

interface ShellProps {
  readonly groups: readonly PlaceGroup[]
  readonly about: string
  readonly foot?: ComponentChildren
}

export function Shell({ groups, about, foot }: ShellProps) {
  const places = groups.flatMap((group) => group.places)
  const [first] = places
  const at = route.value.path[0] ?? first?.path
  const current = places.find(({ path }) => path === at) ?? first
  useEffect(
    () =>
      onKeys({
        goTo(letter) {
          const to = places.find((one) => one.letter === letter)
          if (to) go(href([to.path]))
          return to !== undefined
        },
      }),
    [places],
  )
  useEffect(() => {
    document.title = `${current?.title ?? ''} · ${config.title}`
  }, [current])
  const [menu, setMenu] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever has gone somewhere is done with it
  useEffect(() => setMenu(false), [route.value])
  return (
    <div class="frame">
      <div class="side" data-menu={menu ? 'open' : 'closed'}>
        <a class="brand" href={href([])}>
          <Mark />
          <span>
            {config.title}
            <small>{about}</small>
          </span>
        </a>
        <button
          type="button"
          class="menu"
          aria-expanded={menu}
          aria-controls="pages"
          onClick={() => setMenu(!menu)}
        >
          Menu
        </button>
        <Navigation groups={groups} at={current?.path} />
        <div class="foot">
          {foot}
          <Live />
          <button type="button" class="plain wide" onClick={openHelp}>
            Keyboard <kbd>?</kbd>
          </button>
        </div>
      </div>
      <main>{current && <current.page />}</main>
      {helpShown.value && <Help places={places} />}
      <Confirm />
      <Toasts />
    </div>
  )
}

function openHelp(): void {
  helpShown.value = true
}

function Navigation({ groups, at }: { groups: readonly PlaceGroup[]; at: string | undefined }) {
  return (
    <nav id="pages" aria-label="Pages">
      {groups.map(({ title, places }) => (
        <div key={title ?? 'first'}>
          {title && <h2>{title}</h2>}
          <ul>
            {places.map((one) => (
              <li key={one.path}>
                <a href={href([one.path])} aria-current={one.path === at ? 'page' : undefined}>
                  {one.title}
                </a>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

const liveWords = {
  connecting: 'connecting',
  live: 'live',
  lost: 'connection lost, reconnecting',
  unavailable: 'the inbox is not available, retrying',
}

function Live() {
  const state = liveState.value
  return (
    <span class="live" data-state={state} role="status">
      <i aria-hidden="true" />
      <span class={state === 'live' ? 'wide' : ''}>{liveWords[state]}</span>
    </span>
  )
}

function Help({ places }: { readonly places: readonly NavigationItem[] }) {
  const close = () => {
    helpShown.value = false
  }
  return (
    <Dialog title="Keyboard" onClose={close}>
      <Facts
        areKeys
        of={{
          ...keyWords,
          ...Object.fromEntries(places.map(({ letter, title }) => [`g ${letter}`, title])),
        }}
      />
      <div class="actions">
        <button type="button" class="main" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  )
}

function Mark() {
  return (
    <svg width="24" height="24" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" fill="#3257c8" />
      <path
        d="M4 8.5l2.6 2.6L12 5.6"
        stroke="#fff"
        stroke-width="2"
        fill="none"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}

interface PageProps {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A page that scrolls as a whole. */
export function Page({ title, actions, children }: PageProps) {
  return (
    <>
      <header>
        <h1>{title}</h1>
        {actions}
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class="scroll stack" tabIndex={0} aria-label={title}>
        {children}
      </section>
    </>
  )
}
