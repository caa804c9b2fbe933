// The entries of the inbox, newest first, with one beside the list.
/** @jsxImportSource preact */
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { InboxStats } from '../../../../src/inbox/admin.ts'
import { eventNames } from '../../../../src/protocol/names.ts'
import { config, query } from '../call.ts'
import { listen, resync, useLoad, useRows } from '../load.ts'
import { route } from '../route.ts'
import { spanChoices, spanStart, Time } from '../time.tsx'
import { Button } from '../ui/actions.tsx'
import { type FilterField, ListPage } from '../ui/list-page.tsx'
import { Badge, Empty, Status, stateWords } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'
import { EntryDetail, reasons } from './entry.tsx'
import { ask, hasFailedAgain, type InboxRow, overviewOf, states } from './records.ts'

/** The ids of the entries that are ticked. */
const picked = signal<ReadonlySet<string>>(new Set())

export function EntriesPage() {
  const { query: search } = route.value
  const { data } = useLoad(overviewOf('7d'))
  const [newest, setNewest] = useState<string | undefined>(undefined)
  // As text, so that the page is drawn again only if a count changed.
  useEffect(() => {
    const take = (counts: InboxStats) => setNewest(JSON.stringify(counts, [...states]))
    return listen('stats', take)
  }, [])
  const stats: Partial<InboxStats> = newest ? JSON.parse(newest) : (data?.stats ?? {})
  const rows = useRows({
    key: `entries ${search}`,
    on: ['changed'],
    async ask(limit, signal) {
      const path = `/entries${query({ ...filters(search), limit })}`
      const { entries, hasMore } = await ask<EntriesAnswer>(path, { signal })
      return { items: entries, hasMore }
    },
  })
  // An entry that is no longer shown must not be redriven.
  const chosen = rows.items.filter(({ id }) => picked.value.has(id)).map(({ id }) => id)
  const handlers = Object.keys(data?.history.failures ?? {})
  const measured = data?.stats.latency?.handlers.map(({ handler }) => handler) ?? []
  const fields: readonly FilterField[] = [
    {
      name: 'state',
      label: 'State',
      choices: states.map((one) => [one, `${stateWords(one)} (${stats[one] ?? '…'})`]),
    },
    { name: 'name', label: 'Event', choices: eventNames },
    { name: 'handler', label: 'Handler', choices: [...new Set([...measured, ...handlers])] },
    { name: 'reason', label: 'Reason', choices: Object.keys(reasons) },
    { name: 'since', label: 'Received', choices: spanChoices },
  ]
  return (
    <ListPage
      title="Entries"
      path="entries"
      nouns={['entry', 'entries']}
      rows={rows}
      filters={fields}
      columns={columns}
      searchHint="ID, event id, entity or event name"
      noMatch="Search by part of an entry id or event name, or by a full event or entity id (these are stored as hashes)."
      idOf={({ id }) => id}
      picked={config.readOnly ? undefined : picked}
      detail={EntryDetail}
      actions={config.readOnly ? null : <Redrive ids={chosen} dead={stats.dead} />}
      empty={
        <Empty title="The inbox is empty">
          <p>
            Deliveries that your receiver accepts appear here. Send one with{' '}
            <code>npx idv-webhooks send</code>.
          </p>
        </Empty>
      }
    />
  )
}

interface EntriesAnswer {
  readonly entries: readonly InboxRow[]
  readonly hasMore: boolean
}

function filters(search: URLSearchParams) {
  const { since, ...rest } = Object.fromEntries(search)
  return { ...rest, since: spanStart(since) ?? since }
}

const columns: readonly Column<InboxRow>[] = [
  {
    head: 'State',
    cell: (one) => (
      <>
        <Status of={one.state} /> {hasFailedAgain(one) && <Badge tone="bad">failed again</Badge>}
      </>
    ),
  },
  {
    head: 'Event',
    kind: 'main',
    cell: ({ name, receivedName }) => (
      <>
        {name ?? receivedName ?? 'unreadable'}
        {receivedName !== undefined && receivedName !== name && (
          <span class="muted"> · as {receivedName}</span>
        )}
      </>
    ),
  },
  { head: 'Reason', kind: 'more', cell: ({ reason }) => reason && <code>{reason}</code> },
  {
    head: 'Entity',
    kind: 'more',
    cell: (one) => <code>{shortEntity(one)}</code>,
  },
  { head: 'ID', kind: 'more', cell: ({ id }) => <code>{id.slice(0, 13)}</code> },
  { head: 'Attempts', kind: 'more', cell: ({ attempts }) => attempts },
  { head: 'Received', kind: 'end', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
]

/** The type and the beginning of the id: enough to tell rows apart. */
function shortEntity({ entity, eventId }: InboxRow): string | undefined {
  return entity ? `${entity.type}:${entity.id.slice(0, 8)}` : eventId
}

interface RedriveProps {
  readonly ids: readonly string[]
  /** The number of dead letters. */
  readonly dead: number | undefined
}

/** Redrives the chosen entries; without a choice, all dead letters that the filters show. */
function Redrive({ ids, dead }: RedriveProps) {
  const { query: search } = route.value
  const isAll = ids.length === 0
  // The store cannot redrive by handler or reason.
  if (isAll && (search.get('state') !== 'dead' || search.has('handler') || search.has('reason'))) {
    return null
  }
  if (isAll && !dead) return null
  const count = search.size > 1 ? 'all that match' : dead === 1 ? '1 dead letter' : `all ${dead}`
  const what = isAll ? count : String(ids.length)
  const redrive = async () => {
    const body = isAll ? filters(search) : { ids }
    const answer = await ask<{ readonly entries: number }>('/redrive', { method: 'POST', body })
    picked.value = new Set()
    resync.value++
    return `${answer.entries} queued again`
  }
  const question = {
    title: `Redrive ${what}?`,
    text: 'Each runs the handlers that have not succeeded yet, in order of arrival for each entity. Handlers that succeeded do not run again.',
  }
  return (
    <Button kind="main" question={question} work={redrive}>
      Redrive {what}
    </Button>
  )
}
