// A button that copies what is made when it is pressed.
/** @jsxImportSource preact */
import { attempt } from './toast.tsx'

interface CopyProps {
  readonly children: string
  /** The text to copy. */
  readonly text: () => string | Promise<string>
}

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
