// Tables, and pages with filters, a table and the detail of one row beside it. Filters and detail are
// in the address.
import type { Signal } from '@preact/signals'
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { filter, go, href, route } from '../route.ts'
import { type Loaded, useLoad } from '../server.ts'
import { startOf } from '../time.tsx'
import {
  Button,
  Card,
  counted,
  Empty,
  Failed,
  PageHead,
  Select,
  type SelectChoices,
} from './parts.tsx'

export interface Column<Item> {
  readonly head: string
  readonly cell: (item: Item) => ComponentChildren
  /** `more` goes away beside an open detail; `end` is aligned to the right. */
  readonly kind?: 'more' | 'end' | 'main'
}

export interface TableProps<Item> {
  readonly label: string
  readonly items: readonly Item[]
  readonly columns: readonly Column<Item>[]
  /** The field `id` by default. */
  readonly idOf?: (item: Item) => string
  /** The address that a row opens; its link is in the column of the kind `main`. */
  readonly hrefOf?: (item: Item) => string | undefined
  readonly current?: string | undefined
  /** The chosen rows; with it each row has a box to tick. */
  readonly picked?: Signal<ReadonlySet<string>> | undefined
  readonly isDim?: (item: Item) => boolean
  readonly none?: string
}

export function Table<Item>(props: TableProps<Item>) {
  const { label, items, columns, idOf = ownId, picked, none } = props
  if (none && items.length === 0) return <p class="muted">{none}</p>
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {picked && <Pick name="Choose all" ids={items.map(idOf)} picked={picked} cell="th" />}
          {columns.map(({ head, kind }) => (
            <th scope="col" key={head} class={kind}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <Row key={idOf(item)} item={item} {...props} />
        ))}
      </tbody>
    </table>
  )
}

const ownId = (item: unknown) => String(Object(item).id)

export function TableCard<Item>(props: TableProps<Item>) {
  return (
    <Card title={props.label}>
      <Table {...props} />
    </Card>
  )
}

function Row<Item>({ item, ...props }: TableProps<Item> & { readonly item: Item }) {
  const { columns, idOf = ownId, hrefOf, current, picked, isDim } = props
  const id = idOf(item)
  const href = hrefOf?.(item)
  const open = (cell: ComponentChildren) => (
    <a class="open" href={href} aria-current={id === current}>
      {cell}
    </a>
  )
  return (
    <tr class={href && 'row'} data-id={id} data-dim={isDim?.(item)} data-current={id === current}>
      {picked && <Pick name={`Choose ${id}`} ids={[id]} picked={picked} cell="td" />}
      {columns.map(({ head, cell, kind }) => (
        <td key={head} class={kind} data-head={head}>
          {href && kind === 'main' ? open(cell(item)) : cell(item)}
        </td>
      ))}
    </tr>
  )
}

interface PickProps {
  readonly name: string
  readonly ids: readonly string[]
  readonly picked: Signal<ReadonlySet<string>>
  readonly cell: 'th' | 'td'
}

function Pick({ name, ids, picked, cell: Cell }: PickProps) {
  const pick = (checked: boolean) => {
    const others = [...picked.value].filter((id) => !ids.includes(id))
    picked.value = new Set(checked ? [...others, ...ids] : others)
  }
  return (
    <Cell class="pick">
      <input
        type="checkbox"
        aria-label={name}
        checked={ids.length > 0 && ids.every((id) => picked.value.has(id))}
        onChange={({ currentTarget }) => pick(currentTarget.checked)}
      />
    </Cell>
  )
}

interface FilterField {
  readonly name: string
  readonly label: string
  readonly choices: SelectChoices
}

export interface Rows<Item> {
  readonly items: readonly Item[]
  readonly total?: number
  readonly hasMore?: boolean
}

/** The filters of the address, its span as the time that it begins at. */
export type Filters = Readonly<Record<string, string | undefined>>

export interface ListPageProps<Item> extends Omit<TableProps<Item>, 'items' | 'label'> {
  /** In lower case, the first part of the address. */
  readonly title: string
  readonly nouns: readonly [one: string, many: string]
  readonly read: (filters: Filters, size: number, signal: AbortSignal) => Promise<Rows<Item>>
  readonly on: readonly string[]
  readonly filters: readonly FilterField[]
  readonly searchHint: string
  readonly actions?: (items: readonly Item[]) => ComponentChildren
  readonly detail: FunctionComponent<{ readonly id: string }>
  /** Shown in a list without rows and filters. */
  readonly empty: ComponentChildren
  /** Shown in a list without rows that fits the filters. */
  readonly noMatch?: string
}

const step = 100
/** A page with more rows is slow; filters find the rest. */
const maxRows = 2000

export function filtersOf(query: URLSearchParams): Filters {
  const { since, org: _, ...filters } = Object.fromEntries(query)
  return { ...filters, since: startOf(since) }
}

export function ListPage<Item extends { readonly id: string }>(props: ListPageProps<Item>) {
  const { title, nouns, read, on, actions, detail: Detail } = props
  const { path, query } = route.value
  const key = `${title} ${query}`
  const [grown, grow] = useState({ key, size: step })
  const size = grown.key === key ? grown.size : step
  const ask = (signal: AbortSignal) => read(filtersOf(query), size, signal)
  const { data, problem } = useLoad({ key, size, on, ask })
  const { items = [], hasMore = false, total = hasMore ? undefined : items.length } = data ?? {}
  const count = total === undefined ? `${items.length}+ ${nouns[1]}` : counted(total, nouns)
  const more = () => grow({ key, size: Math.min(maxRows, size === step ? 500 : size + 500) })
  return (
    <>
      <PageHead title={title} count={data && count} actions={actions?.(items)} />
      <div class={path[1] ? 'split open' : 'split'}>
        <section>
          <FilterBar {...props} />
          <Failed problem={problem} />
          {data && <List {...props} {...data} more={more} />}
        </section>
        {path[1] && <Detail key={path[1]} id={path[1]} />}
      </div>
    </>
  )
}

type ListProps<Item> = ListPageProps<Item> & Rows<Item> & { readonly more: () => void }

function List<Item extends { readonly id: string }>(props: ListProps<Item>) {
  const { title, items, hasMore, columns, picked, empty, noMatch = '', more } = props
  const { path, query } = route.value
  const place = title.toLowerCase()
  const current = path[1]
  // A page with many rows is drawn again only if one of these changed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the others are the same in effect
  const table = useMemo(() => {
    const hrefOf = ({ id }: Item) => href([place, id], query)
    return <Table label={title} {...{ ...props, current, hrefOf }} />
  }, [items, columns, current, picked?.value, query])
  if (items.length === 0) {
    if (![...query.keys()].some((name) => name !== 'org')) return <div class="scroll">{empty}</div>
    const clear = () => go(href([place], { org: query.get('org') ?? '' }))
    const actions = <Button work={clear} words="Clear the filters" />
    return <Empty title="Nothing matches these filters" text={noMatch} actions={actions} />
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="rows" tabIndex={0} aria-label="List">
      {table}
      {hasMore && items.length < maxRows && <Button work={more} words="Show more" />}
      {items.length >= maxRows && (
        <p class="hint">These are the newest {maxRows}: filter to find others.</p>
      )}
    </section>
  )
}

function FilterBar(props: Pick<ListPageProps<never>, 'filters' | 'searchHint'>) {
  const { filters, searchHint: hint } = props
  const { query } = route.value
  const [isOpen, open] = useState(false)
  const known = ['search', 'org', ...filters.map(({ name }) => name)]
  const others = [...query].filter(([name]) => !known.includes(name))
  const active = filters.filter(({ name }) => query.has(name)).length
  return (
    <search class="filters" aria-label="Filters" data-open={isOpen}>
      <input
        type="search"
        aria-label={`Search: ${hint}`}
        autocomplete="off"
        spellcheck={false}
        placeholder={hint}
        value={query.get('search') ?? ''}
        onInput={({ currentTarget }) => filter({ search: currentTarget.value })}
      />
      <button type="button" class="phone" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        Filters{active > 0 && ` (${active})`}
      </button>
      {filters.map(({ name, label, choices }) => {
        const value = query.get(name) ?? ''
        const isKnown = choices.some((one) => value === '' || one === value || one[0] === value)
        // The address may name a value that is not offered.
        const all: SelectChoices = [['', `${label}: any`], ...choices, ...(isKnown ? [] : [value])]
        const onChange = (chosen: string) => filter({ [name]: chosen })
        return <Select key={name} label={label} value={value} choices={all} onChange={onChange} />
      })}
      {others.map(([name, value]) => (
        <Button
          key={name}
          kind="chip"
          work={() => filter({ [name]: undefined })}
          words={`${name}: ${value} ✕`}
        />
      ))}
    </search>
  )
}

interface DetailProps<Data> {
  readonly label: string
  readonly load: Loaded<Data>
  readonly title: (data: Data) => ComponentChildren
  readonly actions: (data: Data) => ComponentChildren
  readonly children: (data: Data) => ComponentChildren
}

/** The frame of a detail; without data it says why, and can still be closed. */
export function Detail<Data>({ label, load, title, actions, children }: DetailProps<Data>) {
  const { data, problem } = load
  const { path, query } = route.value
  const close = () => go(href(path.slice(0, 1), query))
  return (
    <section class="detail" aria-label={label}>
      <header>
        <div class="line">
          <h2>{data ? title(data) : label}</h2>
          <Button kind="plain" label="Close the detail" work={close} words="✕" />
        </div>
        {data && <div class="actions">{actions(data)}</div>}
      </header>
      <div class="stack">
        <Failed problem={problem} />
        {data && children(data)}
      </div>
    </section>
  )
}
