// The entries of the inbox, newest first, with a search as you type and one entry beside the list.
/** @jsxImportSource preact */
import { useEffect, useState } from 'preact/hooks'
import { config, query } from '../call.ts'
import { resync, useLoad } from '../load.ts'
import { filter, go, href, route } from '../route.ts'
import { Time } from '../time.tsx'
import { Status } from '../ui/badge.tsx'
import { confirmed } from '../ui/confirm.tsx'
import { Empty, Failed } from '../ui/detail.tsx'
import { Rows } from '../ui/rows.tsx'
import { Choice, Search } from '../ui/search.tsx'
import { EntryDetail } from './entry.tsx'
import { ask, type EntryRow, type EntryRows, entityOf, states } from './records.ts'

const pageSize = 100

export function EntriesPage() {
  const { path, query: search } = route.value
  const id = path[1]
  const { entries, more, problem, loaded } = useEntries(Object.fromEntries(search))
  const back = () => go(href(['entries'], search))
  const entity = search.get('entity')
  return (
    <>
      <header>
        <h1>Entries</h1>
        {entity && (
          <button type="button" onClick={() => filter({ entity: undefined })}>
            {entity} ✕
          </button>
        )}
        {search.get('state') === 'dead' && !config.readOnly && entries.length > 0 && <RedriveAll />}
      </header>
      <div class={id ? 'split open' : 'split'}>
        <section aria-label="List">
          <search class="filters" aria-label="Filters">
            <Search hint="Id, event id, entity or event name" />
            <Choice name="state" choices={states} />
          </search>
          {problem && <Failed problem={problem} />}
          <Rows
            items={entries}
            label="Entries"
            kind="entry"
            idOf={(one) => one.id}
            hrefOf={(one) => href(['entries', one.id], search)}
            row={(one) => <Row of={one} />}
            current={id}
            onEnd={more}
            onBack={id ? back : undefined}
            empty={loaded && <Nothing filtered={search.size > 0} />}
          />
        </section>
        {id && <EntryDetail key={id} id={id} onClose={back} />}
      </div>
    </>
  )
}

/** Pages of entries; when something changed those that are shown are asked for again. */
function useEntries(filters: Readonly<Record<string, string>>) {
  const text = query(filters)
  const [older, setOlder] = useState<{
    readonly of: string
    readonly pages: readonly EntryRows[]
  }>({
    of: text,
    pages: [],
  })
  const { data, problem } = useLoad({
    key: `entries ${text}`,
    ask: (signal) =>
      ask<EntryRows>(`/entries${query({ ...filters, limit: pageSize })}`, { signal }),
    on: ['changed'],
  })
  // A page may only follow the one that it was asked after.
  useEffect(() => setOlder({ of: text, pages: [] }), [text])
  const pages = older.of === text ? older.pages : []
  const known = new Set<string>()
  const entries = [...(data ? [data] : []), ...pages]
    .flatMap((page) => page.entries)
    .filter((one) => !known.has(one.id) && known.add(one.id))
  const cursor = (pages.at(-1) ?? data)?.cursor
  const more = async () => {
    if (cursor === undefined) return
    const path = `/entries${query({ ...filters, limit: 500, cursor })}`
    const page = await ask<EntryRows>(path).catch(() => undefined)
    if (!page) return
    setOlder((before) => ({
      of: text,
      pages: before.of === text ? [...before.pages, page] : [page],
    }))
  }
  return { entries, more, problem, loaded: data !== undefined }
}

function Row({ of }: { readonly of: EntryRow }) {
  const legacy = of.receivedName !== undefined && of.receivedName !== of.name
  return (
    <>
      <span>
        <Status of={of.state} />
      </span>
      <span>
        {of.name ?? of.receivedName ?? 'unreadable'}
        {legacy && <span class="muted"> · as {of.receivedName}</span>}
        {of.reason && <span class="muted"> · {of.reason}</span>}
      </span>
      <span class="muted mono more">{entityOf(of) ?? of.eventId}</span>
      <span class="muted more">{of.attempts === 1 ? '1 attempt' : `${of.attempts} attempts`}</span>
      <span class="muted end">
        <Time at={of.receivedAt} />
      </span>
    </>
  )
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  if (!filtered) {
    return (
      <Empty title="The inbox is empty">
        <p>
          Deliveries that your receiver accepts appear here. Send one with{' '}
          <code>npx idv-webhooks send</code>.
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="Nothing fits">
      <p>
        Search by part of an entry id or event name, or by a full event or entity id (these are
        stored as hashes).
      </p>
      <button type="button" onClick={() => go(href(['entries']))}>
        Show all
      </button>
    </Empty>
  )
}

function RedriveAll() {
  const redrive = () => {
    const title = 'Redrive all matching dead letters?'
    const text =
      'Each runs the handlers that have not succeeded yet, in order of arrival for each entity. Handlers that succeeded do not run again.'
    return confirmed({ title, text, yes: 'Redrive' }, async () => {
      const body = Object.fromEntries(route.peek().query)
      const { entries } = await ask<{ readonly entries: number }>('/redrive', {
        method: 'POST',
        body,
      })
      resync.value++
      return `${entries} will be handled again`
    })
  }
  return (
    <button type="button" class="main" onClick={redrive}>
      Redrive all
    </button>
  )
}
