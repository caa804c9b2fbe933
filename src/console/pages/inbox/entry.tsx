// One entry: its state and why, its handlers, its payload once it is revealed, and what may be done.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { config } from '../config.ts'
import { type TestCase, toCurl, toTest } from '../export.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { duration, Time } from '../time.tsx'
import { Badge, Status } from '../ui/badge.tsx'
import { Body, Headers } from '../ui/bytes.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Copy } from '../ui/copy.tsx'
import { DetailHead, Fact, Facts } from '../ui/detail.tsx'
import { Failed } from '../ui/empty.tsx'
import { ScrollText } from '../ui/scroll-text.tsx'
import { attempt } from '../ui/toast.tsx'
import { ask, type Entry, entityOf } from './records.ts'

interface Shown {
  readonly entry: Entry
  readonly shape?: unknown
}

interface Payload {
  readonly headers: readonly (readonly [string, string])[]
  readonly url?: string
  readonly receivedAt: string
  readonly body: string
}

interface DetailProps {
  readonly id: string
  readonly onClose: () => void
}

export function EntryDetail({ id, onClose }: DetailProps) {
  const path = `/entries/${encodeURIComponent(id)}`
  const { data, problem, reload } = useLoad({
    key: `entry ${id}`,
    ask: (signal) => ask<Shown>(path, { signal }),
    on: ['changed'],
  })
  const [payload, setPayload] = useState<Payload | undefined>(undefined)
  if (!data) return <section class="detail">{problem && <Failed problem={problem} />}</section>
  const { entry, shape } = data
  const reveal = () =>
    attempt(async () => {
      setPayload(payload ? undefined : await ask<Payload>(`${path}/reveal`, { method: 'POST' }))
      return undefined
    })
  return (
    <section class="detail" aria-label="Entry">
      <DetailHead title={entry.name ?? entry.receivedName ?? 'Unreadable'} onClose={onClose}>
        <Status of={entry.state} />
        {!config.readOnly && <Actions entry={entry} onDone={reload} />}
      </DetailHead>
      <div class="stack">
        <Why entry={entry} />
        <EntryFacts entry={entry} />
        <Handlers entry={entry} />
        {entry.erased ? (
          <p class="notice">
            The payload was erased; the entry stays so that duplicates are known.
          </p>
        ) : (
          <section class="stack">
            <div class="actions">
              <button type="button" aria-pressed={payload !== undefined} onClick={reveal}>
                {payload ? 'Mask again' : 'Reveal the payload'}
              </button>
              <Copy text={() => testOf(entry)}>Copy as test</Copy>
              {payload && <Copy text={() => curlOf(payload)}>Copy as curl</Copy>}
            </div>
            {payload ? <PayloadView payload={payload} /> : <Shape shape={shape} />}
          </section>
        )}
      </div>
    </section>
  )
}

function Shape({ shape }: { readonly shape: unknown }) {
  if (shape === undefined) return <p class="muted">The payload cannot be read.</p>
  const text = typeof shape === 'string' ? shape : JSON.stringify(shape, null, 2)
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
  HANDLER_FAILED: 'A handler threw at every attempt. Mend it, then redrive.',
  HANDLER_TIMEOUT: 'A handler took longer than its time limit at every attempt.',
  NON_RETRYABLE: 'A handler said that no further attempt would help.',
  CRASHED: 'The process ended while it was handled, again and again.',
  UNREADABLE: 'What is kept of it cannot be read: a key is missing, or it is damaged.',
  NO_HANDLER: 'No handler is registered for it. Register one, then redrive.',
  CONFLICT: 'Its id had arrived before with other bytes. It is kept as evidence.',
  DISMISSED: 'Somebody dismissed it.',
  FORGOTTEN: 'The person that it was about was forgotten.',
}

function Why({ entry: { reason, state } }: { readonly entry: Entry }) {
  if (!reason) return null
  return (
    <p class="notice" data-tone={state === 'dead' ? 'bad' : 'warn'}>
      <strong>{reason}</strong> {reasons[reason] ?? 'It could not be understood as an event.'}
    </p>
  )
}

function EntryFacts({ entry: one }: { readonly entry: Entry }) {
  const entity = entityOf(one)
  const took = one.settledAt && Date.parse(one.settledAt) - Date.parse(one.receivedAt)
  return (
    <section>
      <h3>Facts</h3>
      <Facts>
        <Fact name="Entry">
          <code>{one.id}</code>
        </Fact>
        {one.eventId && (
          <Fact name="Event">
            <code>{one.eventId}</code>
          </Fact>
        )}
        {one.receivedName && one.receivedName !== one.name && (
          <Fact name="Arrived as">
            <code>{one.receivedName}</code>
          </Fact>
        )}
        {entity && (
          <Fact name="Entity">
            <a href={href(['entries'], { entity })}>{entity}</a>
          </Fact>
        )}
        {one.tenant && <Fact name="Tenant">{one.tenant}</Fact>}
        <Fact name="Source">{one.source}</Fact>
        <Fact name="Received">
          <Time at={one.receivedAt} />
        </Fact>
        {one.dueAt && (
          <Fact name="Due">
            <Time at={one.dueAt} />
          </Fact>
        )}
        {one.settledAt && (
          <Fact name="Settled">
            <Time at={one.settledAt} />
            {typeof took === 'number' && <span class="muted"> after {duration(took)}</span>}
          </Fact>
        )}
        <Fact name="Attempts">
          {one.attempts}
          {one.generation > 0 && ` since it was handed back (${one.generation} times so far)`}
        </Fact>
        <Fact name="Size">{one.bytes} bytes</Fact>
        {one.conflictOf && (
          <Fact name="Conflicts with">
            <a href={href(['entries', one.conflictOf])}>{one.conflictOf}</a>
          </Fact>
        )}
      </Facts>
    </section>
  )
}

function Handlers({ entry: { handled, failures } }: { readonly entry: Entry }) {
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

interface EntryAction {
  readonly name: 'redrive' | 'replay' | 'dismiss'
  readonly from: readonly string[]
  readonly title: string
  readonly words: string
  readonly danger?: boolean
}

const choices: readonly EntryAction[] = [
  {
    name: 'redrive',
    from: ['dead', 'skipped'],
    title: 'Redrive',
    words:
      'It goes back to the handlers that have not succeeded yet, with all its attempts. Handlers that succeeded are not run again.',
  },
  {
    name: 'replay',
    from: ['done'],
    title: 'Replay',
    words:
      'Every handler runs again on the bytes that were kept, also those that succeeded: what they do must bear being done twice.',
  },
  {
    name: 'dismiss',
    from: ['dead'],
    title: 'Dismiss',
    danger: true,
    words:
      'It is settled for good and no handler runs. Later events of its entity, where they wait for it, go on.',
  },
]

function Actions({ entry, onDone }: { readonly entry: Entry; readonly onDone: () => void }) {
  const act = async ({ name, title, words, danger }: EntryAction) => {
    const asked = { title: `${title} this entry?`, text: words, yes: title }
    if (!(await confirm({ ...asked, ...(danger && { danger }) }))) return
    await attempt(async () => {
      await ask(`/entries/${encodeURIComponent(entry.id)}/${name}`, { method: 'POST' })
      onDone()
      return `${title}: done`
    })
  }
  return (
    <>
      {choices
        .filter(({ from }) => from.includes(entry.state) && !(entry.erased && from[0] !== 'dead'))
        .map((one) => (
          <button
            key={one.name}
            type="button"
            class={one.danger ? 'danger' : 'main'}
            onClick={() => act(one)}
          >
            {one.title}
          </button>
        ))}
      {entry.entity && !entry.erased && <Forget entry={entry} onDone={onDone} />}
    </>
  )
}

function Forget({ entry, onDone }: { readonly entry: Entry; readonly onDone: () => void }) {
  const entity = entityOf(entry) ?? ''
  const forget = async () => {
    const title = `Forget ${entity}?`
    const text =
      'The payloads of every event about it are erased, those of its verifications too when it is a client. What still waits is skipped. This cannot be undone.'
    if (!(await confirm({ title, text, yes: 'Forget', danger: true }))) return
    await attempt(async () => {
      const { tenant } = entry
      const { entries } = await ask<{ readonly entries: number }>('/forget', {
        method: 'POST',
        body: { entity, ...(tenant !== undefined && { tenant }) },
      })
      onDone()
      return `${entries} payloads are erased`
    })
  }
  return (
    <button type="button" class="danger" onClick={forget}>
      Forget…
    </button>
  )
}

async function testOf({ id, name }: Entry): Promise<string> {
  const path = `/entries/${encodeURIComponent(id)}/capture`
  const { capture, secret } = await ask<Pick<TestCase, 'capture' | 'secret'>>(path, {
    method: 'POST',
  })
  return toTest({
    title: `${name ?? id} is handled as it arrived`,
    capture,
    secret,
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
