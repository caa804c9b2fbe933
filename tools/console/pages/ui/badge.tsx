// A state as a word with a sign: the colour only repeats what both say.
/** @jsxImportSource preact */

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'calm'

const states: Readonly<Record<string, readonly [Tone, string]>> = {
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
  stored: ['info', '○'],
  leased: ['info', '◐'],
  retry: ['warn', '↻'],
  done: ['good', '✓'],
  dead: ['bad', '✕'],
  skipped: ['calm', '⊘'],
  active: ['good', '✓'],
  deleted: ['calm', '⊘'],
  paused: ['warn', 'Ⅱ'],
}

export function Status({ of }: { readonly of: string }) {
  const [tone, sign] = states[of] ?? (['calm', '•'] as const)
  return (
    <Badge tone={tone} sign={sign}>
      {of.replaceAll('_', ' ')}
    </Badge>
  )
}

interface BadgeProps {
  readonly tone: Tone
  readonly sign?: string
  readonly children: string
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
      {status === undefined ? 'no answer' : String(status)}
    </Badge>
  )
}
