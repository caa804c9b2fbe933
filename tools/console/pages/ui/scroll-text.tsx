// Text of many lines in a box that scrolls, and that the keyboard reaches.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'

interface ScrollTextProps {
  readonly label: string
  readonly testid?: string
  readonly children: ComponentChildren
}

export function ScrollText({ label, testid, children }: ScrollTextProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="tall" tabIndex={0} aria-label={label} data-testid={testid}>
      <pre>{children}</pre>
    </section>
  )
}
