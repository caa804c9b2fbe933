// Empty states, which say what to do next, and failures.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import type { Problem } from '../call.ts'

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
