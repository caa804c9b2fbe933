// A person's data, masked until it is revealed; each reveal is recorded by the server first.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'
import { dots } from '../../../../src/redaction/redact.ts'
import { call, config } from '../call.ts'
import { attempt } from './toast.tsx'

/** The values revealed on this page, until the user leaves it. */
const revealed = signal<ReadonlySet<string>>(new Set())

export function isRevealed(what: string): boolean {
  return revealed.value.has(what)
}

/** Records that a person's data is handed out, before it is. */
export async function recordReveal(what: string): Promise<void> {
  await call(`${config.base}/reveals`, { method: 'POST', body: { what } })
}

/** Records a reveal, then shows what it names. */
function reveal(what: string): Promise<boolean> {
  return attempt(async () => {
    await recordReveal(what)
    revealed.value = new Set([...revealed.value, what])
    return undefined
  })
}

function hide(what: string): void {
  revealed.value = new Set([...revealed.value].filter((one) => one !== what))
}

interface MaskedProps {
  /** The name of what is revealed together. */
  readonly of: string
  readonly children: string | null | undefined
}

export function Masked({ of, children }: MaskedProps) {
  if (!children) return <span class="muted">–</span>
  if (isRevealed(of)) return <span>{children}</span>
  return (
    <span class="masked" title="Masked: reveal it to read it">
      {dots}
    </span>
  )
}

export function RevealButton({ of, children }: { readonly of: string; readonly children: string }) {
  const shown = isRevealed(of)
  return (
    <button
      type="button"
      aria-pressed={shown}
      onClick={() => (shown ? hide(of) : reveal(of))}
      title="Each reveal is recorded"
    >
      {shown ? 'Mask again' : children}
    </button>
  )
}
