// The frame of every page: where the reader is and can go, and whether the page is live.
/** @jsxImportSource preact */
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { config } from '../call.ts'
import { liveState } from '../load.ts'
import { href, route } from '../route.ts'
import { zone } from '../time.tsx'
import { Answers, Button } from './actions.tsx'
import { type Command, openPalette, Palette, setCommands } from './palette.tsx'
import { Empty, Notice, Page } from './parts.tsx'

interface NavPlace {
  readonly path: string
  readonly title: string
  readonly page: ComponentType
  /** After `g`. */
  readonly letter: string
  /** How many there need attention. */
  readonly badge?: number | undefined
}

/** A page of the navigation, at the address that its title gives. */
export function place(title: string, letter: string, page: ComponentType): NavPlace {
  return { path: title.toLowerCase().replaceAll(' ', '-'), title, letter, page }
}

export interface NavGroup {
  readonly title?: string
  readonly places: readonly NavPlace[]
}

interface ShellProps {
  readonly groups: readonly NavGroup[]
  /** Further entries of the palette. */
  readonly commands?: readonly Command[]
  readonly searches: (text: string) => readonly Command[]
  readonly foot?: ComponentChildren
}

export function Shell({ groups, commands = [], searches, foot }: ShellProps) {
  const places = groups.flatMap((group) => group.places)
  const [first] = places
  const at = route.value.path[0] ?? first?.path
  const current = places.find(({ path }) => path === at)
  setCommands([
    ...places.map(({ title, letter, path }) => ({
      title,
      keys: `g ${letter}`,
      href: href([path]),
    })),
    ...commands,
  ])
  const [isMenuOpen, openMenu] = useState(false)
  const toggleMenu = () => openMenu(!isMenuOpen)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the reader has gone somewhere
  useEffect(() => openMenu(false), [route.value])
  return (
    <div class="frame">
      <header class="side" data-menu={isMenuOpen ? 'open' : 'closed'}>
        <a class="brand" href={href([])}>
          <Mark />
          <span>
            {config.title}
            <small>{location.host}</small>
          </span>
        </a>
        <button type="button" class="menu" aria-expanded={isMenuOpen} onClick={toggleMenu}>
          Menu
        </button>
        <button type="button" class="goto" onClick={openPalette}>
          Go to… <kbd>⌘K</kbd>
        </button>
        <nav id="pages" aria-label="Pages">
          {groups.map((group) => (
            <Group key={group.title} {...group} at={current?.path} />
          ))}
        </nav>
        <div class="foot">
          {foot}
          <span class="live" data-state={liveState.value}>
            <i aria-hidden="true" />
            {liveState.value}
          </span>
          <span class="wide">Times in {zone}</span>
        </div>
      </header>
      <main>
        <Offline />
        {current ? <current.page /> : <NotFound />}
      </main>
      <Palette searches={searches} />
      <Answers />
    </div>
  )
}

function Group({ title, places, at }: NavGroup & { readonly at: string | undefined }) {
  return (
    <>
      {title && <h2>{title}</h2>}
      <ul>
        {places.map(({ path, title, badge }) => (
          <li key={path}>
            <a href={href([path])} aria-current={path === at ? 'page' : undefined}>
              {title} {badge ? <b class="count">{badge}</b> : null}
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

/** Says that what is shown may be old. */
function Offline() {
  const state = liveState.value
  if (state !== 'offline' && state !== 'unavailable') return null
  return (
    <Notice tone="bad">
      {state === 'offline'
        ? 'Connection lost: the server does not respond. Is it still running? Reconnecting…'
        : 'The inbox is not available. Retrying…'}
    </Notice>
  )
}

function NotFound() {
  return (
    <Page title="Page not found">
      <Empty title="There is no page at this address">
        <p class="break">{location.hash}</p>
        <div class="actions">
          <a class="button main" href={href([])}>
            Go to the first page
          </a>
          <Button work={openPalette}>Search all pages</Button>
        </div>
      </Empty>
    </Page>
  )
}

function Mark() {
  return (
    <svg width="24" height="24" viewBox="0 0 16 16" aria-hidden="true">
      <rect width="16" height="16" rx="4" fill="#3257c8" />
      <path d="M4 8.5l2.6 2.6L12 5.6" stroke="#fff" stroke-width="2" fill="none" />
    </svg>
  )
}
