// The frame of every page: where the reader is and can go, the command palette, and the keyboard.
import { signal } from '@preact/signals'
import type { ComponentChildren, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { href, route } from '../route.ts'
import { config, liveState } from '../server.ts'
import { zone } from '../time.tsx'
import { Answers, Button, Dialog, Empty, LinkButton, Notice, Page } from './parts.tsx'

interface NavPlace {
  readonly path: string
  readonly title: string
  readonly page: ComponentType
  /** After `g`. */
  readonly letter: string
  readonly badge?: number | undefined
  /** The title of the group that begins with it. */
  readonly group?: string
}

/** A page of the navigation, at the address that its title gives. */
export function place(title: string, letter: string, page: ComponentType): NavPlace {
  return { path: title.toLowerCase().replaceAll(' ', '-'), title, letter, page }
}

interface Command {
  readonly title: string
  readonly keys?: string
  readonly href: string
}

interface ShellProps {
  readonly places: readonly NavPlace[]
  readonly commands: readonly Command[]
  readonly searches: (text: string) => readonly Command[]
  readonly foot?: ComponentChildren
}

export function Shell({ places, commands, searches, foot }: ShellProps) {
  const at = route.value.path[0] ?? places[0]?.path
  const Current = places.find(({ path }) => path === at)?.page ?? NotFound
  const pages = places.map(({ title, letter, path }) => {
    return { title, keys: `g ${letter}`, href: href([path]) }
  })
  const [isMenuOpen, openMenu] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the menu closes when the reader has gone somewhere
  useEffect(() => openMenu(false), [route.value])
  return (
    <div class="frame">
      <header class="side" data-menu={isMenuOpen ? 'open' : 'closed'}>
        <a class="brand" href={href([])}>
          <svg width="24" height="24" viewBox="0 0 16 16" aria-hidden="true">
            <rect width="16" height="16" rx="4" fill="#3257c8" />
            <path d="M4 8.5l2.6 2.6L12 5.6" stroke="#fff" stroke-width="2" fill="none" />
          </svg>
          <span>
            {config.title}
            <small>{location.host}</small>
          </span>
        </a>
        <button
          type="button"
          class="menu"
          aria-expanded={isMenuOpen}
          onClick={() => openMenu(!isMenuOpen)}
        >
          Menu
        </button>
        <button type="button" class="goto" onClick={openPalette}>
          Go to… <kbd>⌘K</kbd>
        </button>
        <nav id="pages" aria-label="Pages">
          {places.map(({ path, title, badge, group, letter }) => (
            <>
              {group && <h2>{group}</h2>}
              <a
                href={href([path])}
                data-letter={letter}
                aria-current={path === at ? 'page' : undefined}
              >
                {title} {badge ? <b class="count">{badge}</b> : null}
              </a>
            </>
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
        <Current />
      </main>
      {isPaletteOpen.value && <Palette commands={[...pages, ...commands]} searches={searches} />}
      <Answers />
    </div>
  )
}

function Offline() {
  const words: Readonly<Record<string, string>> = {
    offline: 'Connection lost: the server does not respond. Is it still running? Reconnecting…',
    unavailable: 'The inbox is not available. Retrying…',
  }
  const state = liveState.value
  return words[state] ? <Notice tone="bad">{words[state]}</Notice> : null
}

function NotFound() {
  const actions = [
    <LinkButton key="first" to={href([])} words="Go to the first page" isMain />,
    <Button key="search" work={openPalette} words="Search all pages" />,
  ]
  const text = <span class="break">{location.hash}</span>
  return (
    <Page title="Page not found">
      <Empty title="There is no page at this address" text={text} actions={actions} />
    </Page>
  )
}

const isPaletteOpen = signal(false)

const setPalette = (isOpen: boolean) => () => {
  isPaletteOpen.value = isOpen
}
const openPalette = setPalette(true)

function Palette({ commands, searches }: Pick<ShellProps, 'commands' | 'searches'>) {
  const [text, setText] = useState('')
  const words = text.trim()
  const found = commands.filter(({ title }) => title.toLowerCase().includes(words.toLowerCase()))
  return (
    <Dialog title="Go to" onClose={setPalette(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          press('dialog li a')
        }}
      >
        <input
          autofocus
          type="text"
          aria-label="Page, command or text to search"
          placeholder="Page, command, id or text to search"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </form>
      <ul>
        {[...found, ...(words ? searches(words) : [])].map(({ title, keys, href }) => (
          <li key={title}>
            <a href={href} onClick={setPalette(false)}>
              {title} {keys && <kbd>{keys}</kbd>}
            </a>
          </li>
        ))}
      </ul>
      <p class="hint">
        <kbd>/</kbd> search · <kbd>j</kbd> <kbd>k</kbd> or <kbd>↓</kbd> <kbd>↑</kbd> move ·{' '}
        <kbd>Enter</kbd> open · <kbd>Esc</kbd> close
      </p>
    </Dialog>
  )
}

let isPrefixed = false

addEventListener('keydown', (event) => {
  const { key, target } = event
  const isCommand = event.ctrlKey || event.metaKey
  const isDialog = document.querySelector('dialog[open]') !== null
  const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select')
  if (isTyping && key === 'Escape') target.blur()
  const isGoing = isPrefixed && !isTyping
  isPrefixed = key === 'g' && !isGoing && !isTyping
  let act = isGoing ? () => press(`#pages [data-letter="${CSS.escape(key)}"]`) : keys[key]
  if (isCommand) act = key === 'k' ? openPalette : undefined
  else if (isDialog) act = arrows[key]
  else if (isTyping || event.altKey) act = undefined
  if (!act) return
  event.preventDefault()
  act()
})

type Keys = Readonly<Record<string, () => void>>

const arrows: Keys = {
  ArrowDown: () => move(1, 'dialog li a'),
  ArrowUp: () => move(-1, 'dialog li a'),
}

/** The work of each key. The rows are asked of the document, so that no page has to take part. */
const keys: Keys = {
  '/': () => document.querySelector<HTMLInputElement>('main input[type="search"]')?.focus(),
  '?': openPalette,
  j: () => move(1, 'main a.open'),
  k: () => move(-1, 'main a.open'),
  Escape: () => press('.detail > header .plain'),
}

const press = (selector: string) => document.querySelector<HTMLElement>(selector)?.click()

function move(by: number, selector: string): void {
  const rows = [...document.querySelectorAll<HTMLElement>(selector)]
  const focused = rows.indexOf(document.activeElement as HTMLElement)
  const at = focused >= 0 ? focused : rows.findIndex((row) => row.ariaCurrent === 'true')
  rows[Math.min(rows.length - 1, Math.max(0, at + by))]?.focus()
}
