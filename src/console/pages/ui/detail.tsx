// The head of a detail, and its facts as pairs.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

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
