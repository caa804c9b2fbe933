// The keyboard: the command palette, which lists every page and command with its keys, and the keys.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { go } from '../route.ts'
import { Dialog } from './actions.tsx'

export interface Command {
  readonly title: string
  readonly keys?: string
  /** Where it leads. */
  readonly href: string
}

const isOpen = signal(false)
const commands = signal<readonly Command[]>([])

/** Sets what the palette and the keys offer. */
export function setCommands(all: readonly Command[]): void {
  commands.value = all
}

export function openPalette(): void {
  isOpen.value = true
}

interface PaletteProps {
  /** Commands that search for a text. */
  readonly searches: (text: string) => readonly Command[]
}

export function Palette({ searches }: PaletteProps) {
  return isOpen.value ? <OpenPalette searches={searches} /> : null
}

function OpenPalette({ searches }: PaletteProps) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const words = text.trim().toLowerCase()
  const found = commands.value.filter(({ title }) => title.toLowerCase().includes(words))
  const all = words === '' ? found : [...found, ...searches(text.trim())]
  const close = () => {
    isOpen.value = false
  }
  const run = (one: Command | undefined) => {
    if (!one) return
    close()
    go(one.href)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by !== undefined) setAt((at + by + all.length) % all.length)
    else if (event.key === 'Enter') run(all[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Go to" onClose={close}>
      <input
        autofocus
        type="text"
        role="combobox"
        aria-label="Page, command or text to search"
        aria-expanded="true"
        aria-controls="commands"
        aria-activedescendant={`command-${at}`}
        placeholder="Page, command, id or text to search"
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id="commands" role="listbox" aria-label="Commands">
        {all.map((one, nth) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keys
          <div
            key={one.title}
            id={`command-${nth}`}
            role="option"
            tabIndex={-1}
            aria-selected={nth === at}
            onClick={() => run(one)}
          >
            {one.title} {one.keys && <kbd>{one.keys}</kbd>}
          </div>
        ))}
      </div>
      <p class="hint">
        <kbd>/</kbd> search · <kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> open ·{' '}
        <kbd>Esc</kbd> close
      </p>
    </Dialog>
  )
}

let isPrefixed = false

addEventListener('keydown', (event) => {
  const { key, target } = event
  if (key === 'k' && (event.metaKey || event.ctrlKey)) {
    event.preventDefault()
    openPalette()
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (document.querySelector('dialog[open]')) return
  if (target instanceof HTMLElement && target.matches('input, textarea, select')) {
    if (key === 'Escape') target.blur()
    return
  }
  const isGoing = isPrefixed
  isPrefixed = key === 'g' && !isGoing
  const act = isGoing ? () => goTo(key) : actions[key]
  if (!act) return
  event.preventDefault()
  act()
})

function goTo(letter: string): void {
  const to = commands.peek().find(({ keys }) => keys === `g ${letter}`)
  if (to) go(to.href)
}

/** The work of each key. The rows are asked of the document, so that no page has to take part. */
const actions: Readonly<Record<string, () => void>> = {
  '/': () => document.querySelector<HTMLInputElement>('main input[type="search"]')?.focus(),
  '?': openPalette,
  j: () => move(1),
  k: () => move(-1),
  Escape: () => document.querySelector<HTMLElement>('.detail > header .plain')?.click(),
}

function move(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('main a.open')]
  const focused = rows.indexOf(document.activeElement as HTMLElement)
  const at = focused >= 0 ? focused : rows.findIndex((row) => row.ariaCurrent === 'true')
  rows[Math.min(rows.length - 1, Math.max(0, at + by))]?.focus()
}
