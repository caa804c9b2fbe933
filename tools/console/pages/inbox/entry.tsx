// One entry: its state and why, its handlers, its payload once it is revealed, and actions that say
// what will happen before they do it.
import { useState } from 'preact/hooks'
import { href } from '../route.ts'
import { at, call, change, config, useLoad } from '../server.ts'
import { type TestCase, toCurl, toTest } from '../text.ts'
import { duration, Time } from '../time.tsx'
import { Body, Headers, Json } from '../ui/bytes.tsx'
import { words } from '../ui/form.tsx'
import { Detail } from '../ui/list.tsx'
import { Badge, Button, Card, Copy, counted, Details, Facts, Id, Notice } from '../ui/parts.tsx'
import { api, EntryStatus, type InboxRow, nameOf } from './overview.tsx'

interface ShownEntry {
  readonly entry: InboxRow
  /** The entry of the same entity that is handled first. */
  readonly waitsFor?: Pick<InboxRow, 'id' | 'dueAt'>
  readonly shape?: unknown
}

export interface ChangedEntries {
  readonly entries: number
}

interface EntryProps {
  readonly entry: InboxRow
}

const pathOf = (id: string) => `${api}/entries/${encodeURIComponent(id)}`
const post = <Answer,>(path: string, body?: object) => call<Answer>(path, { method: 'POST', body })
const entityOf = ({ entity }: InboxRow) => entity && `${entity.type}:${entity.id}`

export function EntryDetail({ id }: { readonly id: string }) {
  return (
    <Detail
      label="Entry"
      // An open entry changes without an event of its own, so every look at the inbox reloads it.
      load={useLoad(at<ShownEntry>(pathOf(id), ['changed', 'stats']))}
      title={({ entry }) => nameOf(entry)}
      actions={({ entry }) => (
        <>
          <EntryStatus of={entry} />
          {!config.readOnly && <EntryActions entry={entry} />}
        </>
      )}
    >
      {({ entry, waitsFor, shape }) => (
        <>
          <Why entry={entry} />
          {waitsFor && (
            <Notice tone="warn">
              It waits for an earlier entry of the same entity,{' '}
              <Id of={waitsFor.id} href={href(['entries', waitsFor.id])} />
              {waitsFor.dueAt && [
                ', whose next attempt is due ',
                <Time key="at" at={waitsFor.dueAt} />,
              ]}
            </Notice>
          )}
          {entry.attempts > 0 && <Handlers entry={entry} />}
          {entry.erased ? (
            <Notice>
              The payload was erased. The entry remains so that duplicates are recognized.
            </Notice>
          ) : (
            <PayloadSection entry={entry} shape={shape} />
          )}
          <Details of={detailsOf(entry)} />
        </>
      )}
    </Detail>
  )
}

/** Actions with the states they start from, the words once they are done, and what will happen. */
const offered = {
  redrive: [
    'dead skipped retry',
    'Queued again',
    'The handlers that have not succeeded yet run again now, with all attempts available. Handlers that succeeded do not run again.',
  ],
  replay: [
    'done',
    'Queued again',
    'Every handler runs again on the stored bytes, including those that succeeded: their effects must be idempotent.',
  ],
  dismiss: [
    'dead',
    'Dismissed',
    'No handler runs for it unless an operator redrives it. Later events of its entity that wait for it continue.',
  ],
} as const

function EntryActions({ entry }: EntryProps) {
  const { id, state, erased, entity, tenant, unreadable } = entry
  const forget = async () => {
    // The tenant of an entry that no key opens is unknown.
    const of = unreadable ? {} : { tenant: tenant ?? null }
    const path = `${api}/forget`
    const { entries } = await post<ChangedEntries>(path, { entity: entityOf(entry), ...of })
    return `${entries} payloads are erased`
  }
  const whose = tenant === undefined ? '' : ` of the tenant ${tenant}`
  const forgetting = {
    title: `Forget ${entityOf(entry)}?`,
    text: `Erases the payload of every event about this entity${whose} and, for a client, of its verifications. Entries that still wait are skipped. This cannot be undone.`,
  }
  return (
    <>
      {Object.entries(offered).map(([name, [from, past, text]]) => {
        if (!from.split(' ').includes(state) || (erased && name === 'replay')) return null
        const question = { title: `${words(name)} this entry?`, text }
        const kind = name === 'dismiss' ? 'danger' : 'main'
        return (
          <Button
            key={name}
            {...{ kind, question, words: words(name) }}
            work={change(past, `${pathOf(id)}/${name}`)}
          />
        )
      })}
      {entity && !erased && (
        <Button kind="danger" question={forgetting} work={forget} words="Forget" />
      )}
    </>
  )
}

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

function Why({ entry: { reason, state, dueAt } }: EntryProps) {
  if (reason === undefined) return null
  const due = state === 'retry' && [
    ' The next attempt is due ',
    <Time key="at" at={dueAt} />,
    config.readOnly ? '.' : '. Redrive makes it now.',
  ]
  return (
    <Notice tone={state === 'dead' ? 'bad' : 'warn'}>
      <strong>{reason}</strong> {(due ? retried : reasons)[reason]}
      {due}
    </Notice>
  )
}

function Handlers({ entry: { handled, failures } }: EntryProps) {
  const failed = failures.map(({ handler, code, error }) => [
    handler,
    [<Badge key="state" tone="bad" words="failed" />, ` ${code} ${error}`],
  ])
  const done = handled.map((handler) => [handler, <Badge key="state" tone="good" words="done" />])
  return (
    <Card title="Handlers">
      <Facts of={Object.fromEntries([...failed, ...done])} />
    </Card>
  )
}

interface Payload {
  readonly headers: readonly (readonly [string, string])[]
  readonly url?: string
  readonly body: string
}

/** The payload: its shape until it is revealed, which the server records first. */
function PayloadSection({ entry, shape }: EntryProps & Pick<ShownEntry, 'shape'>) {
  const [payload, setPayload] = useState<Payload | undefined>(undefined)
  const reveal = async () =>
    setPayload(payload ? undefined : await post<Payload>(`${pathOf(entry.id)}/reveal`))
  const isShape = typeof shape === 'object'
  return (
    <Card title="Payload">
      <div class="stack">
        <div class="actions">
          <Button
            isPressed={payload !== undefined}
            work={reveal}
            words={payload ? 'Mask again' : 'Reveal the payload'}
          />
          <Copy text={() => testOf(entry)} words="Copy as test" />
          {payload && <Copy text={() => curlOf(payload)} words="Copy as curl" />}
        </div>
        {payload && (
          <>
            <Body base64={payload.body} label="Received body" />
            {payload.url && <p class="break">Received at {payload.url}</p>}
            <Headers pairs={payload.headers} />
          </>
        )}
        {!payload && isShape && <Json label="The payload, masked" value={shape} />}
        {!payload && !isShape && (
          <p class="muted">{String(shape ?? 'The payload cannot be read.')}</p>
        )}
      </div>
    </Card>
  )
}

async function testOf({ id, name }: InboxRow): Promise<string> {
  const { capture } = await post<Pick<TestCase, 'capture'>>(`${pathOf(id)}/capture`)
  return toTest({ title: `${name ?? id} is handled as it arrived`, capture, outcome: 'handled' })
}

function curlOf({ headers, url = '/', body }: Payload): string {
  const isOwn = /^(content-length|host|connection|transfer-encoding)$/
  const sent = headers.filter(([name]) => !isOwn.test(name))
  const address = new URL(url, 'http://localhost:3000').href
  return toCurl({ method: 'POST', url: address, headers: sent, body })
}

function detailsOf(entry: InboxRow) {
  const { id, eventId, receivedName, tenant, source, receivedAt, dueAt, settledAt } = entry
  const { attempts, generation, bytes, conflictOf } = entry
  const entity = entityOf(entry)
  const took = settledAt && duration(Date.parse(settledAt) - Date.parse(receivedAt))
  const again = generation > 0 && `, after ${counted(generation, ['redrive', 'redrives'])}`
  return {
    Entry: <Id of={id} />,
    Event: eventId && <Id of={eventId} />,
    'Arrived as': receivedName !== entry.name && receivedName,
    Entity: entity && <Id of={entity} href={href(['entries'], { entity })} />,
    Tenant: tenant && <a href={href(['entries'], { tenant })}>{tenant}</a>,
    Source: source,
    Received: <Time at={receivedAt} />,
    Due: dueAt && <Time at={dueAt} />,
    Settled: settledAt && [<Time key="at" at={settledAt} />, ` after ${took}`],
    Attempts: [attempts, again],
    Size: `${bytes.toLocaleString('en')} bytes`,
    'Conflicts with': conflictOf && <Id of={conflictOf} href={href(['entries', conflictOf])} />,
  }
}
