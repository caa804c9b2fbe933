// Exact bytes for people: as text where they are text, laid out where they are JSON, always as text
// nodes and never as markup. Until a person's data is revealed only its shape is shown.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { isDeeperText } from '../../../../src/foundation/json.ts'
import { dotted } from '../../../../src/redaction/redact.ts'
import { cut, fromBase64, laidOut, mostShown, textOf } from '../text.ts'
import { duration } from '../time.tsx'
import { isRevealed } from './masked.tsx'

interface ScrollTextProps {
  readonly label: string
  readonly testid?: string
  readonly children: ComponentChildren
}

interface BodyProps {
  readonly base64: string
  /** The name to reveal before the values are shown; without it they are always shown. */
  readonly of?: string
  readonly label: string
}

export function Body({ base64, of, label }: BodyProps) {
  const bytes = fromBase64(base64)
  const text = textOf(bytes)
  const shown = of === undefined || isRevealed(of)
  if (bytes.length === 0) return <p class="muted">Empty</p>
  return (
    <ScrollText label={label} testid="body">
      {shown ? (text === undefined ? hex(bytes) : readable(text)) : shapeOf(bytes, text)}
    </ScrollText>
  )
}

function readable(text: string): string {
  const json = parsed(text)
  return json === undefined ? cut(text) : laidOut(json)
}

/** Keys and harmless values of JSON; of anything else only its length. */
function shapeOf(bytes: Uint8Array, text: string | undefined): string {
  const json = text === undefined ? undefined : parsed(text)
  if (json === undefined) return `${bytes.length} bytes, masked`
  return laidOut(dotted(json, 'resource'))
}

/** Deeper JSON is shown as it came. */
const deepest = 500

function parsed(text: string): unknown {
  try {
    return isDeeperText(text, deepest) ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

function hex(bytes: Uint8Array): string {
  const pairs = [...bytes.subarray(0, 4096)].map((byte) => byte.toString(16).padStart(2, '0'))
  return pairs.join(' ') + (bytes.length > 4096 ? ` … ${bytes.length - 4096} more bytes` : '')
}

type Pairs = readonly (readonly [string, string])[]

export function Headers({ pairs }: { readonly pairs: Pairs }) {
  if (pairs.length === 0) return <p class="muted">None</p>
  return (
    <pre data-testid="headers">{pairs.map(([name, value]) => `${name}: ${value}`).join('\n')}</pre>
  )
}

export function Took({ ms }: { readonly ms: number | undefined }) {
  return ms === undefined ? null : <span class="muted nowrap">{duration(ms)}</span>
}

/** Where two texts begin and cease to differ. */
function difference(one: string, other: string) {
  let from = 0
  const shorter = Math.min(one.length, other.length)
  while (from < shorter && one[from] === other[from]) from++
  let tail = 0
  while (tail < shorter - from && one.at(-1 - tail) === other.at(-1 - tail)) tail++
  return { from, tail }
}

interface PairProps {
  readonly signed: string
  readonly received: string
}

/** Two bodies beside each other, with what differs marked in both. */
export function SideBySide({ signed, received }: PairProps) {
  const [one, other] = [signed, received].map((text) => shownBytes(fromBase64(text))) as [
    string,
    string,
  ]
  const { from, tail } = difference(one, other)
  const part = (text: string) => {
    const end = text.length - tail
    return (
      <>
        {text.slice(0, from)}
        <mark>{text.slice(from, end) || '∅'}</mark>
        {text.slice(end)}
      </>
    )
  }
  return (
    <div class="pair" data-testid="side-by-side">
      <figure>
        <figcaption class="hint">Signed · {fromBase64(signed).length} bytes</figcaption>
        <ScrollText label="Signed bytes">{part(one)}</ScrollText>
      </figure>
      <figure>
        <figcaption class="hint">Received · {fromBase64(received).length} bytes</figcaption>
        <ScrollText label="Received bytes">{part(other)}</ScrollText>
      </figure>
    </div>
  )
}

/** Spaces and line ends are what most often differs: they are made visible. */
function shownBytes(bytes: Uint8Array): string {
  const text = textOf(bytes)
  if (text === undefined) return hex(bytes)
  return text.replaceAll('\r', '␍').replaceAll('\n', '⏎\n').slice(0, mostShown)
}

/** Text of many lines in a box that scrolls, and that the keyboard reaches. */
export function ScrollText({ label, testid, children }: ScrollTextProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="tall" tabIndex={0} aria-label={label} data-testid={testid}>
      <pre>{children}</pre>
    </section>
  )
}
