// The head of a detail, and its facts as pairs.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { Problem } from '../call.ts'
import { Failed } from './empty.tsx'

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

export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>
}

interface FactProps {
  readonly name: string
  readonly children: ComponentChildren
}

export function Fact({ name, children }: FactProps) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}
