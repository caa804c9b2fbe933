// Exact bytes for people: JSON coloured and foldable, or as it came; always as text nodes and never
// as markup.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { isDeeperText, parseJson } from '../../../../src/foundation/json.ts'
import { cut, fromBase64, laidOut, maxShown, textOf } from '../text.ts'
import { Button, Copy } from './parts.tsx'

/** A body: as JSON if it is JSON, else as text, else as hexadecimal bytes. */
export function Body({ base64, label }: Readonly<Record<'base64' | 'label', string>>) {
  const [isRaw, setRaw] = useState(false)
  const bytes = fromBase64(base64)
  if (bytes.length === 0) return <p class="muted">Empty</p>
  const text = textOf(bytes)
  const json = text === undefined ? undefined : parseJson(text)?.value
  const raw = text === undefined ? hex(bytes) : cut(text)
  return (
    <div class="body" data-testid="body">
      <div class="bar">
        <span class="hint">
          {label} · {bytes.length.toLocaleString('en')} bytes
        </span>
        {json !== undefined && (
          <Button kind="plain" isPressed={isRaw} work={() => setRaw(!isRaw)} words="Raw" />
        )}
        <Copy label={`Copy: ${label}`} text={() => text ?? raw} />
      </div>
      {isRaw || json === undefined ? (
        <ScrollText label={label}>{raw}</ScrollText>
      ) : (
        <Json label={label} value={json} />
      )}
    </div>
  )
}

/** Characters and levels up to which JSON can be folded. */
const maxFolded = 60_000
const maxLevels = 30

export function Json({ label, value }: { readonly label: string; readonly value: unknown }) {
  const line = JSON.stringify(value)
  const isPlain = line.length > maxFolded || isDeeperText(line, maxLevels)
  return (
    <ScrollText label={label}>
      {isPlain ? laidOut(value) : <JsonNode value={value} level={0} end="" />}
    </ScrollText>
  )
}

interface NodeProps {
  readonly name?: string | undefined
  readonly value: unknown
  readonly level: number
  /** The text after the value: a comma, or nothing after the last. */
  readonly end: string
}

function JsonNode({ name, value, level, end }: NodeProps) {
  const key = name !== undefined && <span class="key">{JSON.stringify(name)}: </span>
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  if (entries.length === 0) {
    return (
      <div>
        {key}
        <span data-type={value === null ? 'null' : typeof value}>{JSON.stringify(value)}</span>
        {end}
      </div>
    )
  }
  const isList = Array.isArray(value)
  const close = `${isList ? ']' : '}'}${end}`
  return (
    <details open={level < 4}>
      <summary>
        {key}
        {isList ? '[' : '{'}
        <span class="folded">{` ${entries.length} ${close}`}</span>
      </summary>
      <div class="inside">
        {entries.map(([inner, item], at) => (
          <JsonNode
            key={inner}
            name={isList ? undefined : inner}
            value={item}
            level={level + 1}
            end={at === entries.length - 1 ? '' : ','}
          />
        ))}
      </div>
      {close}
    </details>
  )
}

function hex(bytes: Uint8Array): string {
  const pairs = [...bytes.subarray(0, 4096)].map((byte) => byte.toString(16).padStart(2, '0'))
  return pairs.join(' ') + (bytes.length > 4096 ? ` … ${bytes.length - 4096} more bytes` : '')
}

export function Headers({ pairs }: { readonly pairs: readonly (readonly [string, string])[] }) {
  return (
    <details>
      <summary>{pairs.length === 1 ? '1 header' : `${pairs.length} headers`}</summary>
      <pre data-testid="headers">
        {pairs.map(([name, value]) => `${name}: ${value}`).join('\n')}
      </pre>
    </details>
  )
}

export function SideBySide(bodies: Readonly<Record<'signed' | 'received', string>>) {
  const one = visible(bodies.signed)
  const other = visible(bodies.received)
  const shorter = Math.min(one.length, other.length)
  let from = 0
  while (from < shorter && one[from] === other[from]) from++
  let tail = 0
  while (tail < shorter - from && one.at(-1 - tail) === other.at(-1 - tail)) tail++
  const part = (title: string, text: string, base64: string) => (
    <figure>
      <figcaption class="hint">{`${title} · ${fromBase64(base64).length} bytes`}</figcaption>
      <ScrollText label={`${title} bytes`}>
        {text.slice(0, from)}
        <mark>{text.slice(from, text.length - tail) || '∅'}</mark>
        {text.slice(text.length - tail)}
      </ScrollText>
    </figure>
  )
  return (
    <div class="pair" data-testid="side-by-side">
      {part('Signed', one, bodies.signed)}
      {part('Received', other, bodies.received)}
    </div>
  )
}

function visible(base64: string): string {
  const bytes = fromBase64(base64)
  const text = textOf(bytes)
  if (text === undefined) return hex(bytes)
  return text.replaceAll('\r', '␍').replaceAll('\n', '⏎\n').slice(0, maxShown)
}

/** Text of many lines in a box that scrolls, and that the keyboard reaches. */
function ScrollText(props: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="tall code" tabIndex={0} aria-label={props.label}>
      {props.children}
    </section>
  )
}
