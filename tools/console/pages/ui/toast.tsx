// Short words on what was done, read out to those who listen.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'
import { Problem } from '../call.ts'

interface Toast {
  readonly id: number
  readonly text: string
  readonly tone: 'good' | 'bad'
}

const toasts = signal<readonly Toast[]>([])
let last = 0

function say(text: string, tone: Toast['tone'] = 'good'): void {
  const id = ++last
  toasts.value = [...toasts.value.slice(-2), { id, text, tone }]
  setTimeout(
    () => {
      toasts.value = toasts.value.filter((one) => one.id !== id)
    },
    tone === 'bad' ? 8000 : 4000,
  )
}

/** The work of a button; it gives the words for what was done. */
export type Action = () => Promise<string | undefined>

/** Runs what a button does, and says what became of it. */
export async function attempt(work: Action): Promise<boolean> {
  try {
    const done = await work()
    if (done) say(done)
    return true
  } catch (error) {
    const fields = error instanceof Problem ? error.errors : []
    const more = fields.map(({ field, message }) => `${field} ${message}`).join('; ')
    say(`${error instanceof Error ? error.message : String(error)}${more && `: ${more}`}`, 'bad')
    return false
  }
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone }) => (
        <p key={id} class="toast" data-tone={tone}>
          <span aria-hidden="true">{tone === 'good' ? '✓ ' : '✕ '}</span>
          {text}
        </p>
      ))}
    </div>
  )
}

interface CopyProps {
  readonly children: string
  /** The text to copy. */
  readonly text: () => string | Promise<string>
}

/** A button that copies the text which is made when it is pressed. */
export function Copy({ children, text }: CopyProps) {
  const copy = () =>
    attempt(async () => {
      await navigator.clipboard.writeText(await text())
      return 'Copied'
    })
  return (
    <button type="button" onClick={copy}>
      {children}
    </button>
  )
}
