// The keyboard: / searches, j and k move, Enter opens, Escape goes back, ? explains. Nothing of it
// acts while somebody types.
import { signal } from '@preact/signals'

export const helpShown = signal(false)

/** Shown in the help; `g` is followed by the letter of a page. */
export const keyWords = {
  '/': 'search',
  'j  k': 'next and previous row',
  Enter: 'open the row',
  Esc: 'close the detail or this help',
  'g …': 'go to a page by its letter',
  '?': 'this help',
}

export interface KeyTargets {
  readonly move?: (by: 1 | -1) => void
  readonly back?: () => void
  readonly goTo?: (letter: string) => boolean
}

const targets: KeyTargets[] = []
let prefixed = false

/** Takes part in the keyboard until it is ended; the latest one is asked first. */
export function onKeys(own: KeyTargets): () => void {
  targets.push(own)
  return () => targets.splice(targets.indexOf(own), 1)
}

const latest = <Name extends keyof KeyTargets>(name: Name): KeyTargets[Name] =>
  targets.findLast((one) => one[name] !== undefined)?.[name]

function typing(event: KeyboardEvent): boolean {
  const { target } = event
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (document.querySelector('dialog[open]')) return
  if (typing(event)) {
    if (event.key === 'Escape') (event.target as HTMLElement).blur()
    return
  }
  if (prefixed) {
    prefixed = false
    if (latest('goTo')?.(event.key)) event.preventDefault()
    return
  }
  if (act(event.key)) event.preventDefault()
})

function act(key: string): boolean {
  switch (key) {
    case '/': {
      const search = document.querySelector<HTMLInputElement>('main input[type="search"]')
      search?.focus()
      search?.select()
      return search !== null
    }
    case 'j':
    case 'k':
      latest('move')?.(key === 'j' ? 1 : -1)
      return true
    case 'g':
      prefixed = true
      return true
    case '?':
      helpShown.value = true
      return true
    case 'Escape':
      latest('back')?.()
      return true
    default:
      return false
  }
}
