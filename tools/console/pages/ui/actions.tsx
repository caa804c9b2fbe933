// Buttons and what follows from them: the question before, the words after.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Problem } from '../call.ts'
import { route } from '../route.ts'

const toast = signal<{ readonly text: string; readonly tone: 'good' | 'bad' } | undefined>(
  undefined,
)

// The words about a page go with it.
let page: string | undefined
route.subscribe(({ path }) => {
  if (path[0] !== page) toast.value = undefined
  page = path[0]
})

function say(text: string, tone: 'good' | 'bad'): void {
  const own = { text, tone }
  toast.value = own
  const end = () => {
    if (toast.peek() === own) toast.value = undefined
  }
  setTimeout(end, tone === 'bad' ? 8000 : 4000)
}

/** Runs what a button does, and says what became of it: a text that it gives, or its error. */
export async function attempt(work: () => unknown): Promise<void> {
  try {
    const done = await work()
    if (typeof done === 'string') say(done, 'good')
  } catch (error) {
    const fields = error instanceof Problem ? error.errors : []
    const more = fields.map(({ field, message }) => `: ${field} ${message}`).join('')
    say(`${error instanceof Error ? error.message : String(error)}${more}`, 'bad')
  }
}

interface Question {
  readonly title: string
  readonly text: string
}

interface ButtonProps {
  readonly kind?: 'main' | 'danger' | 'plain' | 'chip' | undefined
  /** Accessible name, if the words alone do not say it. */
  readonly label?: string
  readonly isPressed?: boolean
  /** Runs at a press; a text that it gives is shown. */
  readonly work: () => unknown
  /** Asked before it is done. */
  readonly question?: Question | undefined
  readonly children: ComponentChildren
}

export function Button({ kind, label, isPressed, work, question, children }: ButtonProps) {
  const run = () => attempt(work)
  const ask = (question: Question) => {
    asked.value = { ...question, yes: children, isDanger: kind === 'danger', run }
  }
  return (
    <button
      type="button"
      class={kind}
      aria-label={label}
      title={label}
      aria-pressed={isPressed}
      onClick={() => (question ? ask(question) : run())}
    >
      {children}
    </button>
  )
}

interface CopyProps {
  /** The words of the button; an icon by default. */
  readonly children?: string
  readonly label?: string
  readonly text: () => string | Promise<string>
}

/** A button that copies a text, which is made when it is pressed. */
export function Copy({ children, label = 'Copy', text }: CopyProps) {
  const work = async () => {
    await navigator.clipboard.writeText(await text())
    return 'Copied'
  }
  if (children) return <Button work={work}>{children}</Button>
  return (
    <Button kind="plain" label={label} work={work}>
      <svg width="13" height="13" viewBox="0 0 16 16" fill="none" stroke="currentColor">
        <title>{label}</title>
        <path d="M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3" />
      </svg>
    </Button>
  )
}

interface Asked extends Question {
  readonly yes: ComponentChildren
  readonly isDanger: boolean
  readonly run: () => void
}

const asked = signal<Asked | undefined>(undefined)

/** The question and the words that are shown now. */
export function Answers() {
  const close = () => {
    asked.value = undefined
  }
  const yes = () => {
    asked.peek()?.run()
    close()
  }
  const { text, tone } = toast.value ?? {}
  return (
    <>
      {asked.value && (
        <Dialog title={asked.value.title} onClose={close}>
          <p>{asked.value.text}</p>
          <div class="actions">
            <Button work={close}>Cancel</Button>
            <Button kind={asked.value.isDanger ? 'danger' : 'main'} work={yes}>
              {asked.value.yes}
            </Button>
          </div>
        </Dialog>
      )}
      <div class="toasts" role="status" aria-live="polite">
        {text && (
          <p class="toast" data-tone={tone}>
            {tone === 'good' ? '✓' : '✕'} {text}
          </p>
        )}
      </div>
    </>
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
