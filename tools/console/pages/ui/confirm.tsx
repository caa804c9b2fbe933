// Asks before something happens, and says what will: one dialog for every page.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { type Action, attempt } from './toast.tsx'

interface Confirmation {
  readonly title: string
  readonly text: ComponentChildren
  readonly yes: string
  readonly danger?: boolean
  readonly answer: (yes: boolean) => void
}

const question = signal<Confirmation | undefined>(undefined)

/** Resolves to what the reader decides. */
function confirm(asked: Omit<Confirmation, 'answer'>): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      answer(yes) {
        question.value = undefined
        resolve(yes)
      },
    }
  })
}

/** Runs what a button does once the reader confirms it, and says what became of it. */
export async function confirmed(asked: Omit<Confirmation, 'answer'>, work: Action): Promise<void> {
  if (await confirm(asked)) await attempt(work)
}

export function Confirm() {
  const asked = question.value
  if (!asked) return null
  const { title, text, yes, danger, answer } = asked
  return (
    <Dialog title={title} onClose={() => answer(false)}>
      <div>{text}</div>
      <div class="actions">
        <button type="button" onClick={() => answer(false)}>
          Cancel
        </button>
        <button type="button" class={danger ? 'danger' : 'main'} onClick={() => answer(true)}>
          {yes}
        </button>
      </div>
    </Dialog>
  )
}

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-label={title} onClose={onClose}>
      <div class="stack">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}
