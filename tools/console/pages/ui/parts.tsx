// The small parts of every page: states, facts, ids, empty states and failures.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { config, type Problem } from '../call.ts'
import { Copy } from './actions.tsx'

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'calm'

const states: Readonly<Record<string, readonly [tone: Tone, sign: string, words?: string]>> = {
  initiated: ['calm', '○'],
  in_progress: ['info', '◐'],
  submitted: ['info', '↑'],
  pending_review: ['warn', '◔'],
  approved: ['good', '✓'],
  rejected: ['bad', '✕'],
  canceled: ['calm', '⊘'],
  expired: ['calm', '⧗'],
  pending: ['info', '◌'],
  delivered: ['good', '✓'],
  failed: ['bad', '✕'],
  dropped: ['calm', '⊘'],
  held: ['warn', 'Ⅱ'],
  stored: ['info', '○', 'waiting'],
  leased: ['info', '◐', 'running'],
  retry: ['warn', '↻', 'retrying'],
  done: ['good', '✓'],
  dead: ['bad', '✕', 'dead letter'],
  skipped: ['calm', '⊘'],
  active: ['good', '✓'],
  deleted: ['calm', '⊘'],
  paused: ['warn', 'Ⅱ'],
}

/** A state as it is read: in rows, in filters and in charts. */
export const stateWords = (state: string) => states[state]?.[2] ?? state.replaceAll('_', ' ')
export const toneOf = (state: string): Tone => states[state]?.[0] ?? 'calm'

/** The parts of whatever has a title. */
export interface TitledProps {
  readonly title: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A state as a word with a sign: the colour only repeats both. */
export function Status({ of }: { readonly of: string }) {
  const [tone, sign] = states[of] ?? (['calm', '•'] as const)
  return (
    <Badge tone={tone} sign={sign}>
      {stateWords(of)}
    </Badge>
  )
}

interface BadgeProps {
  readonly tone: Tone
  readonly sign?: string
  readonly children: ComponentChildren
}

export function Badge({ tone, sign, children }: BadgeProps) {
  return (
    <span class="badge" data-tone={tone}>
      {sign && <span aria-hidden="true">{sign}</span>}
      {children}
    </span>
  )
}

/** An HTTP status with what it means for the delivery. */
export function HttpStatus({ status }: { readonly status: number | undefined }) {
  const isGood = status !== undefined && status >= 200 && status < 300
  return (
    <Badge tone={isGood ? 'good' : 'bad'} sign={isGood ? '✓' : '✕'}>
      {status ?? 'no response'}
    </Badge>
  )
}

export function Notice({ tone = 'info', children }: Partial<BadgeProps>) {
  return (
    <div class="notice" data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      {children}
    </div>
  )
}

/** An id in full, with a button that copies it. */
export function Id({ of, href }: { readonly of: string; readonly href?: string }) {
  const code = <code>{of}</code>
  return (
    <span class="id">
      {href ? <a href={href}>{code}</a> : code} <Copy label="Copy the id" text={() => of} />
    </span>
  )
}

/** Values by name; a fact without a value is left out. */
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

/** A part of a page in a frame; of a detail without one. */
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

export function Section({ title, children }: TitledProps) {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  )
}

/** Said in the place of a list without rows. */
export function Empty({ title, children }: TitledProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

/** A request that failed; nothing while there is no problem. */
export function Failed({ problem }: { readonly problem: Problem | undefined }) {
  if (!problem) return null
  return (
    <Notice tone="bad">
      <strong>{problem.code}</strong> {problem.message}
      <ul>
        {problem.errors.map(({ field, message }) => (
          <li key={field}>
            <code>{field}</code> {message}
          </li>
        ))}
      </ul>
    </Notice>
  )
}

interface FigureProps {
  readonly name: string
  readonly value: ComponentChildren
  readonly tone?: Tone | undefined
  readonly href?: string
}

/** One number of an overview; a link to what it counts, if there is such a page. */
export function Figure({ name, value, tone, href }: FigureProps) {
  return (
    <a class="figure" data-tone={tone} href={href}>
      <b>{typeof value === 'number' ? value.toLocaleString('en') : value}</b>
      <span>{name}</span>
    </a>
  )
}

interface SelectProps {
  readonly label: string
  readonly value: string
  /** Values, or values with their words. */
  readonly choices: readonly (string | readonly [value: string, words: string])[]
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
  /** How many there are, in words. */
  readonly count?: string | undefined
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

/** A page that scrolls as a whole. */
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
