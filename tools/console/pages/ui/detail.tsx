// The frame of a detail and its facts, empty states, and failures.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { Problem } from '../call.ts'

interface DetailProps {
  /** Accessible name of the detail. */
  readonly label: string
  readonly problem: Problem | undefined
  readonly onClose: () => void
  /** Nothing while it is asked for, or when it is not there. */
  readonly children: ComponentChildren
}

/** The frame of a detail; without content it says why, and can still be closed. */
export function Detail({ label, problem, onClose, children }: DetailProps) {
  return (
    <section class="detail" aria-label={label}>
      {!children && problem && (
        <DetailHead title={label} onClose={onClose}>
          {null}
        </DetailHead>
      )}
      {problem && <Failed problem={problem} />}
      {children}
    </section>
  )
}

interface HeadProps {
  readonly title: ComponentChildren
  readonly onClose: () => void
  readonly children: ComponentChildren
}

export function DetailHead({ title, onClose, children }: HeadProps) {
  return (
    <header>
      <div class="line">
        <h2>{title}</h2>
        <button type="button" class="plain" onClick={onClose} aria-label="Close the detail">
          ✕
        </button>
      </div>
      <div class="actions">{children}</div>
    </header>
  )
}

interface FactsProps {
  /** Values by name; a fact without a value is left out. */
  readonly of: Readonly<Record<string, ComponentChildren>>
  /** Whether the names are keys of the keyboard. */
  readonly areKeys?: boolean
}

export function Facts({ of, areKeys }: FactsProps) {
  const given = Object.entries(of).filter(
    ([, value]) => value !== false && value !== null && value !== undefined,
  )
  return (
    <dl class="facts">
      {given.map(([name, value]) => (
        <>
          <dt>{areKeys ? <kbd>{name}</kbd> : name}</dt>
          <dd>{value}</dd>
        </>
      ))}
    </dl>
  )
}

interface EmptyProps {
  readonly title: string
  readonly children: ComponentChildren
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function Failed({ problem }: { readonly problem: Problem }) {
  return (
    <div class="notice" data-tone="bad" role="alert">
      <strong>{problem.code}</strong> {problem.message}
      {problem.errors.length > 0 && (
        <ul>
          {problem.errors.map(({ field, message }) => (
            <li key={field}>
              <code>{field}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface TableProps {
  readonly heads: readonly string[]
  /** Its rows. */
  readonly children: ComponentChildren
}

export function Table({ heads, children }: TableProps) {
  return (
    <div class="card table">
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
