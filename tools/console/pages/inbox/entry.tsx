// One entry: its state and why, its handlers, and its payload once it is revealed.
/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import { config } from '../call.ts'
import { type TestCase, toCurl, toTest } from '../export.ts'
import { listen, useLoad } from '../load.ts'
import { href } from '../route.ts'
import { duration, Time } from '../time.tsx'
import { Button, Copy } from '../ui/actions.tsx'
import { Body, Headers, Json } from '../ui/bytes.tsx'
import { Detail, type DetailProps } from '../ui/list-page.tsx'
import { Badge, Facts, Id, Notice, Section, Status } from '../ui/parts.tsx'
import { EntryActions } from './entry-actions.tsx'
import { ask, entityOf, hasFailedAgain, type InboxRow } from './records.ts'

interface ShownEntry {
  readonly entry: InboxRow
  /** The entry of the same entity that is handled first. */
  readonly waitsFor?: Pick<InboxRow, 'id' | 'dueAt'>
  readonly shape?: unknown
}

interface Payload {
  readonly headers: readonly (readonly [string, string])[]
  readonly url?: string
  readonly body: string
}

const pathOf = (id: string) => `/entries/${encodeURIComponent(id)}`

export function EntryDetail({ id, onClose }: DetailProps) {
  const { data, problem, reload } = useLoad({
    key: `entry ${id}`,
    ask: (signal) => ask<ShownEntry>(pathOf(id), { signal }),
    on: ['changed'],
  })
  const { entry, waitsFor, shape } = data ?? {}
  // An open entry changes without an event of its own, so every look at the inbox reloads it.
  const isOpen = entry !== undefined && /^(?:stored|leased|retry)$/.test(entry.state)
  // biome-ignore lint/correctness/useExhaustiveDependencies: reload is the same in effect
  useEffect(() => (isOpen ? listen('stats', reload) : undefined), [isOpen])
  const actions = entry && (
    <>
      <Status of={entry.state} />
      {hasFailedAgain(entry) && <Badge tone="bad">failed again</Badge>}
      {!config.readOnly && <EntryActions entry={entry} onDone={reload} />}
    </>
  )
  const title = entry ? (entry.name ?? entry.receivedName ?? 'Unreadable') : 'Entry'
  return (
    <Detail label="Entry" {...{ title, problem, onClose, actions }}>
      {entry && (
        <>
          <Why entry={entry} />
          {waitsFor && <Behind of={waitsFor} />}
          <Handlers entry={entry} />
          {entry.erased ? (
            <Notice>
              The payload was erased. The entry remains so that duplicates are recognized.
            </Notice>
          ) : (
            <PayloadSection entry={entry} shape={shape} />
          )}
          <EntryFacts entry={entry} />
        </>
      )}
    </Detail>
  )
}

/** Why an entry is where it is. */
export const reasons: Readonly<Record<string, string>> = {
  HANDLER_FAILED: 'A handler threw on every attempt. Fix it, then redrive.',
  HANDLER_TIMEOUT: 'A handler exceeded its timeout on every attempt.',
  NON_RETRYABLE: 'A handler threw NonRetryable: no further attempt was made.',
  CRASHED: 'The process ended repeatedly while handling it.',
  UNREADABLE: 'The stored entry cannot be read: its encryption key is missing, or it is damaged.',
  BODY_NOT_UTF8: 'The body is not UTF-8.',
  BODY_NOT_JSON: 'The body is not JSON.',
  ENVELOPE_INVALID: 'The body is not an event: its name or its data is missing.',
  EVENT_INVALID: 'The data does not fit the schema of its event.',
  NO_HANDLER: 'No handler is registered for it. Register one, then redrive.',
  CONFLICT: 'An earlier delivery had the same id and other bytes. This one is kept as evidence.',
  DISMISSED: 'An operator dismissed it.',
  FORGOTTEN: 'The person it concerned was forgotten.',
}

/** Why the latest attempt failed, if another follows. */
const retried: Readonly<Record<string, string>> = {
  HANDLER_FAILED: 'A handler threw.',
  HANDLER_TIMEOUT: 'A handler exceeded its timeout.',
  CRASHED: 'The process ended while handling it.',
}

function Why({ entry: { reason, state, dueAt } }: { readonly entry: InboxRow }) {
  if (reason === undefined) return null
  if (state === 'retry') {
    return (
      <Notice tone="warn">
        <strong>{reason}</strong> {retried[reason]} The next attempt is due <Time at={dueAt} />
        {config.readOnly ? '.' : '. Redrive makes it now.'}
      </Notice>
    )
  }
  return (
    <Notice tone={state === 'dead' ? 'bad' : 'warn'}>
      <strong>{reason}</strong> {reasons[reason]}
    </Notice>
  )
}

function Behind({ of: { id, dueAt } }: { readonly of: Pick<InboxRow, 'id' | 'dueAt'> }) {
  return (
    <Notice tone="warn">
      It waits for an earlier entry of the same entity, <a href={href(['entries', id])}>{id}</a>
      {dueAt && (
        <>
          , whose next attempt is due <Time at={dueAt} />
        </>
      )}
      .
    </Notice>
  )
}

function Handlers({ entry: { handled, failures } }: { readonly entry: InboxRow }) {
  if (handled.length + failures.length === 0) return null
  return (
    <Section title="Handlers">
      <ul class="steps">
        {failures.map(({ handler, code, error }) => (
          <li key={handler}>
            <Badge tone="bad" sign="✕">
              failed
            </Badge>
            <code>{handler}</code> <span>{code}</span> <span class="muted break">{error}</span>
          </li>
        ))}
        {handled.map((name) => (
          <li key={name}>
            <Badge tone="good" sign="✓">
              done
            </Badge>
            <code>{name}</code>
          </li>
        ))}
      </ul>
    </Section>
  )
}

/** The payload: its shape until it is revealed, which the server records first. */
function PayloadSection({ entry, shape }: { readonly entry: InboxRow; readonly shape: unknown }) {
  const [payload, setPayload] = useState<Payload | undefined>(undefined)
  const reveal = async () => {
    const path = `${pathOf(entry.id)}/reveal`
    setPayload(payload ? undefined : await ask<Payload>(path, { method: 'POST' }))
  }
  return (
    <Section title="Payload">
      <div class="stack">
        <div class="actions">
          <Button isPressed={payload !== undefined} work={reveal}>
            {payload ? 'Mask again' : 'Reveal the payload'}
          </Button>
          <Copy text={() => testOf(entry)}>Copy as test</Copy>
          {payload && <Copy text={() => curlOf(payload)}>Copy as curl</Copy>}
        </div>
        {payload ? (
          <>
            <Body base64={payload.body} label="Received body" />
            {payload.url && <p class="break">Received at {payload.url}</p>}
            <Headers pairs={payload.headers} />
          </>
        ) : shape === undefined || typeof shape === 'string' ? (
          <p class="muted">{shape ?? 'The payload cannot be read.'}</p>
        ) : (
          <Json label="The payload, masked" value={shape} />
        )}
      </div>
    </Section>
  )
}

function EntryFacts({ entry }: { readonly entry: InboxRow }) {
  const { id, eventId, name, receivedName, tenant, source, receivedAt, dueAt } = entry
  const { settledAt, attempts, generation, bytes, conflictOf } = entry
  const entity = entityOf(entry)
  const took = settledAt && duration(Date.parse(settledAt) - Date.parse(receivedAt))
  const again =
    generation > 0 ? `, after ${generation} ${generation === 1 ? 'redrive' : 'redrives'}` : ''
  return (
    <Section title="Details">
      <Facts
        of={{
          Entry: <Id of={id} />,
          Event: eventId && <Id of={eventId} />,
          'Arrived as': receivedName !== name && receivedName,
          Entity: entity && <Id of={entity} href={href(['entries'], { entity })} />,
          Tenant: tenant && <a href={href(['entries'], { tenant })}>{tenant}</a>,
          Source: source,
          Received: <Time at={receivedAt} />,
          Due: dueAt && <Time at={dueAt} />,
          Settled: settledAt && (
            <>
              <Time at={settledAt} /> <span class="muted">after {took}</span>
            </>
          ),
          Attempts: `${attempts}${again}`,
          Size: `${bytes.toLocaleString('en')} bytes`,
          'Conflicts with': conflictOf && (
            <Id of={conflictOf} href={href(['entries', conflictOf])} />
          ),
        }}
      />
    </Section>
  )
}

async function testOf({ id, name }: InboxRow): Promise<string> {
  const path = `${pathOf(id)}/capture`
  const { capture } = await ask<Pick<TestCase, 'capture'>>(path, { method: 'POST' })
  return toTest({ title: `${name ?? id} is handled as it arrived`, capture, outcome: 'handled' })
}

function curlOf({ headers, url, body }: Payload): string {
  const address = new URL(url ?? '/', 'http://localhost:3000').href
  const own = headers.filter(
    ([name]) => !/^(content-length|host|connection|transfer-encoding)$/.test(name),
  )
  return toCurl({ method: 'POST', url: address, headers: own, body })
}
