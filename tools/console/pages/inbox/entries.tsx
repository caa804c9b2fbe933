// The entries of the inbox, newest first, with one beside the list.
import { computed, signal } from '@preact/signals'
import { eventNames } from '../../../../src/protocol/names.ts'
import { queryOf, route } from '../route.ts'
import { call, config, stats, useLoad } from '../server.ts'
import { since, Time } from '../time.tsx'
import { type Column, type Filters, filtersOf, ListPage, type Rows } from '../ui/list.tsx'
import { Button, Empty, stateWords } from '../ui/parts.tsx'
import { type ChangedEntries, EntryDetail, reasons } from './entry.tsx'
import {
  api,
  EntryStatus,
  type InboxRow,
  nameOf,
  overviewOf,
  shortEntity,
  states,
} from './overview.tsx'

const picked = signal<ReadonlySet<string>>(new Set())
/** As text, so that the page is drawn again only if a count changed. */
const counts = computed(() => states.map((state) => stats.value?.[state] ?? '…').join())

export function EntriesPage() {
  const { data } = useLoad(overviewOf('7d'))
  const numbers = counts.value.split(',')
  const handlers = data?.history.handlers.map(({ handler }) => handler) ?? []
  const counted = states.map((one, at) => [one, `${stateWords(one)} (${numbers[at]})`] as const)
  return (
    <ListPage
      title="Entries"
      nouns={['entry', 'entries']}
      read={read}
      on={['changed']}
      filters={[
        { name: 'state', label: 'State', choices: counted },
        { name: 'name', label: 'Event', choices: eventNames },
        { name: 'handler', label: 'Handler', choices: handlers },
        { name: 'reason', label: 'Reason', choices: Object.keys(reasons) },
        since('Received'),
      ]}
      columns={columns}
      searchHint="ID, event id, entity or event name"
      noMatch="Search by part of an entry id or event name, or by a full event or entity id (these are stored as hashes)."
      picked={config.readOnly ? undefined : picked}
      detail={EntryDetail}
      actions={(items) => !config.readOnly && <Redrive items={items} dead={Number(numbers[0])} />}
      empty={
        <Empty
          title="The inbox is empty"
          text="Deliveries that your receiver accepts appear here. Send one with npx idv-webhooks send."
        />
      }
    />
  )
}

async function read(filters: Filters, limit: number, signal: AbortSignal) {
  const path = `${api}/entries${queryOf({ ...filters, limit })}`
  return call<Rows<InboxRow>>(path, { signal })
}

const columns: readonly Column<InboxRow>[] = [
  { head: 'State', cell: (one) => <EntryStatus of={one} /> },
  {
    head: 'Event',
    kind: 'main',
    cell: (one) => [...new Set([nameOf(one), one.receivedName])].filter(Boolean).join(' · as '),
  },
  { head: 'Reason', kind: 'more', cell: ({ reason }) => reason && <code>{reason}</code> },
  { head: 'Entity', kind: 'more', cell: (one) => <code>{shortEntity(one)}</code> },
  { head: 'ID', cell: ({ id }) => <code>…{id.slice(-8)}</code> },
  { head: 'Attempts', kind: 'more', cell: ({ attempts }) => attempts },
  { head: 'Received', kind: 'end', cell: ({ receivedAt }) => <Time at={receivedAt} /> },
]

interface RedriveProps {
  readonly items: readonly InboxRow[]
  readonly dead: number
}

/** Redrives the chosen entries; without a choice, all dead letters that the filters show. */
function Redrive({ items, dead }: RedriveProps) {
  const { query } = route.value
  // What is no longer shown must not be redriven.
  const ids = items.map(({ id }) => id).filter((id) => picked.value.has(id))
  const isAll = ids.length === 0
  // The store cannot redrive by handler or reason.
  const isPossible = query.get('state') === 'dead' && !query.has('handler') && !query.has('reason')
  if (isAll && !(isPossible && dead > 0)) return null
  const all = query.size > 1 ? 'all that match' : dead === 1 ? '1 dead letter' : `all ${dead}`
  const what = isAll ? all : String(ids.length)
  const redrive = async () => {
    const body = isAll ? filtersOf(query) : { ids }
    const answer = await call<ChangedEntries>(`${api}/redrive`, { method: 'POST', body })
    picked.value = new Set()
    return `${answer.entries} queued again`
  }
  const question = {
    title: `Redrive ${what}?`,
    text: 'Each runs the handlers that have not succeeded yet, in order of arrival for each entity. Handlers that succeeded do not run again.',
  }
  return <Button kind="main" question={question} work={redrive} words={`Redrive ${what}`} />
}
