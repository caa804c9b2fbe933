// The small parts of every page: states, ids, cards, failures; buttons with the question before them
// and the words after.
import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { route } from '../route.ts'
import { config, Problem } from '../server.ts'

/** The sign and the states of each tone: the colour only repeats the sign. */
const tones = {
  good: ['✓', 'approved delivered done active'],
  bad: ['✕', 'rejected failed dead'],
  warn: ['!', 'pending_review held retry paused'],
  info: ['◐', 'in_progress submitted pending stored leased'],
  calm: ['', 'initiated canceled expired dropped skipped deleted'],
} as const

export type Tone = keyof typeof tones

const names: Readonly<Record<string, string>> = {
  stored: 'waiting',
  leased: 'running',
  retry: 'retrying',
  dead: 'dead letter',
}

export const stateWords = (state: string) => names[state] ?? state.replaceAll('_', ' ')

export function toneOf(state: string): Tone {
  const all = Object.keys(tones) as Tone[]
  return all.find((tone) => tones[tone][1].split(' ').includes(state)) ?? 'calm'
}

export interface TitledProps {
  readonly title: ComponentChildren
  readonly text?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

export function Status({ of }: { readonly of: string }) {
  return <Badge tone={toneOf(of)} words={stateWords(of)} />
}

interface BadgeProps {
  readonly tone?: Tone
  readonly words: ComponentChildren
  readonly children?: ComponentChildren
}

export function Badge({ tone = 'calm', words }: BadgeProps) {
  const [sign] = tones[tone]
  return (
    <span class="badge" data-tone={tone}>
      {sign && <span aria-hidden="true">{sign}</span>}
      {words}
    </span>
  )
}

export function HttpStatus({ of = 0 }: { readonly of: number | undefined }) {
  return <Badge tone={of >= 200 && of < 300 ? 'good' : 'bad'} words={of || 'no response'} />
}

export function Notice({ tone = 'info', children }: Partial<BadgeProps>) {
  return (
    <div class="notice" data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      {children}
    </div>
  )
}

export function Id({ of, href }: { readonly of: string; readonly href?: string }) {
  const code = <code>{of}</code>
  return (
    <span class="id">
      {href ? <a href={href}>{code}</a> : code} <Copy label="Copy the id" text={() => of} />
    </span>
  )
}

/** Values by name; one without a value is left out. */
export function Facts({ of }: { readonly of: Readonly<Record<string, ComponentChildren>> }) {
  const given = Object.entries(of).filter(([, value]) => value || value === 0)
  return (
    <dl class="facts">
      {given.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export function Details({ of }: Parameters<typeof Facts>[0]) {
  return (
    <Card title="Details">
      <Facts of={of} />
    </Card>
  )
}

export function Card({ title, actions, children }: TitledProps) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** Said in the place of a list without rows. */
export function Empty({ title, text, actions }: TitledProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      <p>{text}</p>
      {actions && <div class="actions">{actions}</div>}
    </div>
  )
}

export function Failed({ problem }: { readonly problem: Problem | undefined }) {
  if (!problem) return null
  return (
    <Notice tone="bad">
      <strong>{problem.code}</strong> {messageOf(problem)}
    </Notice>
  )
}

function messageOf(error: unknown): string {
  const fields = error instanceof Problem ? error.errors : []
  const more = fields.map(({ field, message }) => `: ${field} ${message}`).join('')
  return `${error instanceof Error ? error.message : String(error)}${more}`
}

export function Figure(props: {
  readonly name: string
  readonly value: number | string
  readonly isBad?: boolean
  readonly href?: string
}) {
  const { name, value, isBad = false, href } = props
  return (
    <a class="figure" data-tone={isBad ? 'bad' : undefined} href={href}>
      <b>{value.toLocaleString('en')}</b>
      <span>{name}</span>
    </a>
  )
}

export type SelectChoices = readonly (string | readonly [value: string, words: string])[]

export const worded = (values: readonly string[], words: (value: string) => string) =>
  values.map((one) => [one, words(one)] as const)

interface SelectProps {
  readonly label: string
  readonly value: string
  readonly choices: SelectChoices
  readonly onChange: (value: string) => void
}

export function Select({ label, value, choices, onChange }: SelectProps) {
  return (
    <select
      aria-label={label}
      data-active={value !== ''}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {choices.map((one) => {
        const [choice, words] = typeof one === 'string' ? [one, one] : one
        return (
          <option key={choice} value={choice}>
            {words}
          </option>
        )
      })}
    </select>
  )
}

interface PageProps extends TitledProps {
  readonly title: string
  readonly count?: string | undefined
}

export function counted(count: number, [one, many]: readonly [one: string, many: string]): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`
}

export function PageHead({ title, count, actions }: PageProps) {
  document.title = `${title} · ${config.title}`
  return (
    <header>
      <h1>{title}</h1>
      <span class="muted" data-testid="total">
        {count}
      </span>
      <div class="actions">{actions}</div>
    </header>
  )
}

export function Page({ children, ...head }: PageProps) {
  return (
    <>
      <PageHead {...head} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard */}
      <section class="scroll stack" tabIndex={0} aria-label={head.title}>
        {children}
      </section>
    </>
  )
}

/** The words that are shown now; they disappear with their page. */
const toast = signal({ text: '', isBad: false, page: route.peek().path[0] })

function say(text: string, isBad = false): void {
  const own = { text, isBad, page: route.peek().path[0] }
  toast.value = own
  const end = () => {
    if (toast.peek() === own) toast.value = { ...own, text: '' }
  }
  setTimeout(end, isBad ? 8000 : 4000)
}

async function attempt(work: () => unknown): Promise<void> {
  try {
    const done = await work()
    if (typeof done === 'string') say(done)
  } catch (error) {
    say(messageOf(error), true)
  }
}

interface ButtonProps {
  readonly kind?: 'main' | 'danger' | 'plain' | 'chip' | undefined
  /** Accessible name, if the words alone do not say it. */
  readonly label?: string
  readonly isPressed?: boolean
  /** Runs at a press; a text that it gives is shown. */
  readonly work: () => unknown
  readonly question?: Readonly<Record<'title' | 'text', string>> | undefined
  readonly words: ComponentChildren
}

export function Button({ kind, label, isPressed, work, question, words }: ButtonProps) {
  const press = () => {
    if (question) asked.value = { kind: kind ?? 'main', work, question, words }
    else attempt(work)
  }
  return (
    <button
      type="button"
      class={kind}
      aria-label={label}
      title={label}
      aria-pressed={isPressed}
      onClick={press}
    >
      {words}
    </button>
  )
}

interface LinkProps {
  readonly to: string
  readonly words: string
  readonly isMain?: boolean
  readonly isApart?: boolean
}

export function LinkButton({ to, words, isMain, isApart }: LinkProps) {
  return (
    <a class={isMain ? 'button main' : 'button'} href={to} target={isApart ? '_blank' : undefined}>
      {words}
    </a>
  )
}

interface CopyProps {
  readonly words?: string
  readonly label?: string
  readonly text: () => string | Promise<string>
}

export function Copy({ words, label = 'Copy', text }: CopyProps) {
  const work = async () => {
    await navigator.clipboard.writeText(await text())
    return 'Copied'
  }
  if (words) return <Button work={work} words={words} />
  const icon = (
    <svg width="13" height="13" viewBox="0 0 16 16" fill="none" stroke="currentColor">
      <title>{label}</title>
      <path d="M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3" />
    </svg>
  )
  return <Button kind="plain" label={label} work={work} words={icon} />
}

/** The button that waits for the answer to its question. */
const asked = signal<ButtonProps | undefined>(undefined)

export function Answers() {
  const { question, kind, work, words } = asked.value ?? {}
  const close = () => {
    asked.value = undefined
  }
  const yes = () => {
    close()
    if (work) attempt(work)
  }
  const { text, isBad, page } = toast.value
  return (
    <>
      {question && (
        <Dialog title={question.title} onClose={close}>
          <p>{question.text}</p>
          <div class="actions">
            <Button work={close} words="Cancel" />
            <Button kind={kind} work={yes} words={words} />
          </div>
        </Dialog>
      )}
      <div class="toasts" role="status" aria-live="polite">
        {text && page === route.value.path[0] && (
          <p class="toast" data-tone={isBad ? 'bad' : 'good'}>
            {isBad ? '✕' : '✓'} {text}
          </p>
        )}
      </div>
    </>
  )
}

export function Dialog({ title, onClose, children }: PageProps & { readonly onClose: () => void }) {
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
