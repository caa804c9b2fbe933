// One entry: its state and why, its handlers, and its payload once it is revealed.
/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import { config } from '../call.ts'
import { type TestCase, toCurl, toTest } from '../export.ts'
import { listen, useLoad } from '../load.ts'
import { href } from '../route.ts'
import { laidOut } from '../text.ts'
import { duration, Time } from '../time.tsx'
import { Badge, Status } from '../ui/badge.tsx'
import { Body, Headers, ScrollText } from '../ui/bytes.tsx'
import { Detail, DetailHead, Facts } from '../ui/detail.tsx'
import { attempt, Copy } from '../ui/toast.tsx'
import { EntryActions } from './entry-actions.tsx'
import { ask, type EntryRow, entityOf } from './records.ts'

interface ShownEntry {
  readonly entry: EntryRow
  /** The entry of the same entity that is handled first. */
  readonly waitsFor?: Pick<EntryRow, 'id' | 'dueAt'>
  readonly shape?: unknown
}

interface Payload {
  readonly headers: readonly (readonly [string, string])[]
  readonly url?: string
  readonly receivedAt: string
  readonly body: string
}

interface EntryDetailProps {
  readonly id: string
  readonly onClose: () => void
}

export function EntryDetail({ id, onClose }: EntryDetailProps) {
  const path = `/entries/${encodeURIComponent(id)}`
  const { data, problem, reload } = useLoad({
    key: `entry ${id}`,
    ask: (signal) => ask<ShownEntry>(path, { signal }),
    on: ['changed'],
  })
  // An open entry changes without an event of its own, so every change of the inbox reloads it.
  const open = data !== undefined && /^(?:stored|leased|retry)$/.test(data.entry.state)
  // biome-ignore lint/correctness/useExhaustiveDependencies: reload is the same in effect
  useEffect(() => (open ? listen('stats', reload) : undefined), [open])
  return (
    <Detail label="Entry" problem={problem} onClose={onClose}>
      {data && <Whole shown={data} onClose={onClose} onDone={reload} />}
    </Detail>
  )
}

interface WholeEntryProps {
  readonly shown: ShownEntry
  readonly onClose: () => void
  readonly onDone: () => void
}

function Whole({ shown: { entry, waitsFor, shape }, onClose, onDone }: WholeEntryProps) {
  return (
    <>
      <DetailHead title={entry.name ?? entry.receivedName ?? 'Unreadable'} onClose={onClose}>
        <Status of={entry.state} />
        {!config.readOnly && <EntryActions entry={entry} onDone={onDone} />}
      </DetailHead>
      <div class="stack">
        <Why entry={entry} />
        {waitsFor && <Behind of={waitsFor} />}
        <EntryFacts entry={entry} />
        <Handlers entry={entry} />
        {entry.erased ? (
          <p class="notice">
            The payload was erased. The entry remains so that duplicates are recognized.
          </p>
        ) : (
          <PayloadSection entry={entry} shape={shape} />
        )}
      </div>
    </>
  )
}

function PayloadSection({ entry, shape }: { readonly entry: EntryRow; readonly shape: unknown }) {
  const [payload, setPayload] = useState<Payload | undefined>(undefined)
  const reveal = () =>
    attempt(async () => {
      const path = `/entries/${encodeURIComponent(entry.id)}/reveal`
      setPayload(payload ? undefined : await ask<Payload>(path, { method: 'POST' }))
      return undefined
    })
  return (
    <section class="stack" aria-label="Payload">
      <div class="actions">
        <button type="button" aria-pressed={payload !== undefined} onClick={reveal}>
          {payload ? 'Mask again' : 'Reveal the payload'}
        </button>
        <Copy text={() => testOf(entry)}>Copy as test</Copy>
        {payload && <Copy text={() => curlOf(payload)}>Copy as curl</Copy>}
      </div>
      {payload ? <PayloadView payload={payload} /> : <Shape shape={shape} />}
    </section>
  )
}

function Shape({ shape }: { readonly shape: unknown }) {
  if (shape === undefined) return <p class="muted">The payload cannot be read.</p>
  const text = typeof shape === 'string' ? shape : laidOut(shape)
  return <ScrollText label="The payload, masked">{text}</ScrollText>
}

function PayloadView({ payload }: { readonly payload: Payload }) {
  return (
    <>
      <section>
        <h3>
          Received{' '}
          {payload.url && (
            <>
              at <span class="break">{payload.url}</span>
            </>
          )}
        </h3>
        <Headers pairs={payload.headers} />
      </section>
      <Body base64={payload.body} label="Body received" />
    </>
  )
}

const reasons: Readonly<Record<string, string>> = {
  HANDLER_FAILED: 'A handler threw on every attempt. Fix it, then redrive.',
  HANDLER_TIMEOUT: 'A handler exceeded its timeout on every attempt.',
  NON_RETRYABLE: 'A handler threw NonRetryable: no further attempt was made.',
  CRASHED: 'The process ended repeatedly while handling it.',
  UNREADABLE: 'The stored entry cannot be read: its encryption key is missing, or it is damaged.',
  NO_HANDLER: 'No handler is registered for it. Register one, then redrive.',
  CONFLICT: 'An earlier delivery had the same id and other bytes. This one is kept as evidence.',
  DISMISSED: 'Somebody dismissed it.',
  FORGOTTEN: 'The person it concerned was forgotten.',
}

/** Of a failed attempt after which another is made. */
const retried: Readonly<Record<string, string>> = {
  HANDLER_FAILED: 'A handler threw.',
  HANDLER_TIMEOUT: 'A handler exceeded its timeout.',
  CRASHED: 'The process ended while handling it.',
}

function Why({ entry: { reason, state, dueAt } }: { readonly entry: EntryRow }) {
  if (!reason) return null
  if (state === 'retry') {
    return (
      <p class="notice" data-tone="warn">
        <strong>{reason}</strong> {retried[reason]} The next attempt is due <Time at={dueAt} />
        {config.readOnly ? '.' : '. Redrive makes it now.'}
      </p>
    )
  }
  return (
    <p class="notice" data-tone={state === 'dead' ? 'bad' : 'warn'}>
      <strong>{reason}</strong> {reasons[reason] ?? 'It could not be understood as an event.'}
    </p>
  )
}

function Behind({ of: { id, dueAt } }: { readonly of: Pick<EntryRow, 'id' | 'dueAt'> }) {
  return (
    <p class="notice" data-tone="warn">
      It waits for an earlier entry of the same entity, <a href={href(['entries', id])}>{id}</a>
      {dueAt && (
        <>
          , whose next attempt is due <Time at={dueAt} />
        </>
      )}
      .
    </p>
  )
}

function EntryFacts({ entry: one }: { readonly entry: EntryRow }) {
  const entity = entityOf(one)
  const isRenamed = one.receivedName !== undefined && one.receivedName !== one.name
  const again =
    one.generation > 0 ? ` since it was handed back (${one.generation} times so far)` : ''
  const took = one.settledAt && Date.parse(one.settledAt) - Date.parse(one.receivedAt)
  return (
    <section>
      <h3>Facts</h3>
      <Facts
        of={{
          Entry: <code>{one.id}</code>,
          Event: one.eventId && <code>{one.eventId}</code>,
          'Arrived as': isRenamed && <code>{one.receivedName}</code>,
          Entity: entity && <a href={href(['entries'], { entity })}>{entity}</a>,
          Tenant: one.tenant,
          Source: one.source,
          Received: <Time at={one.receivedAt} />,
          Due: one.dueAt && <Time at={one.dueAt} />,
          Settled: one.settledAt && (
            <>
              <Time at={one.settledAt} />
              {typeof took === 'number' && <span class="muted"> after {duration(took)}</span>}
            </>
          ),
          Attempts: `${one.attempts}${again}`,
          Size: `${one.bytes} bytes`,
          'Conflicts with': one.conflictOf && (
            <a href={href(['entries', one.conflictOf])}>{one.conflictOf}</a>
          ),
        }}
      />
    </section>
  )
}

function Handlers({ entry: { handled, failures } }: { readonly entry: EntryRow }) {
  if (handled.length + failures.length === 0) return null
  return (
    <section>
      <h3>Handlers</h3>
      <ul class="steps">
        {handled.map((name) => (
          <li key={name}>
            <Badge tone="good" sign="✓">
              done
            </Badge>
            <code>{name}</code>
          </li>
        ))}
        {failures.map(({ handler, code, error }) => (
          <li key={handler}>
            <Badge tone="bad" sign="✕">
              failed
            </Badge>
            <code>{handler}</code> <span>{code}</span> <span class="muted break">{error}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

async function testOf({ id, name }: EntryRow): Promise<string> {
  const path = `/entries/${encodeURIComponent(id)}/capture`
  const { capture } = await ask<Pick<TestCase, 'capture'>>(path, {
    method: 'POST',
  })
  return toTest({
    title: `${name ?? id} is handled as it arrived`,
    capture,
    outcome: 'handled',
  })
}

function curlOf({ headers, url, body }: Payload): string {
  const address = new URL(url ?? '/', 'http://localhost:3000').href
  const own = headers.filter(
    ([name]) => !/^(content-length|host|connection|transfer-encoding)$/.test(name),
  )
  return toCurl({ method: 'POST', url: address, headers: own, body })
}
