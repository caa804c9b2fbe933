// A page with filters, a list, and the detail of one row beside it. Filters and detail are in the
// address.
/** @jsxImportSource preact */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Problem } from '../call.ts'
import { type GrowingList, maxRows } from '../load.ts'
import { filter, go, href, route } from '../route.ts'
import { Button } from './actions.tsx'
import { Empty, Failed, PageHead, Select, type TitledProps } from './parts.tsx'
import { Table, type TableProps } from './table.tsx'

export interface FilterField extends Pick<Parameters<typeof Select>[0], 'label' | 'choices'> {
  readonly name: string
}

interface ListPageProps<Item> extends Omit<TableProps<Item>, 'items' | 'label' | 'hrefOf'> {
  readonly title: string
  /** The first part of the address. */
  readonly path: string
  /** The word for a row, in singular and plural. */
  readonly nouns: readonly [one: string, many: string]
  readonly rows: GrowingList<Item>
  readonly filters: readonly FilterField[]
  readonly searchHint: string
  readonly actions?: ComponentChildren
  readonly detail: FunctionComponent<DetailProps>
  /** Shown in a list without rows and filters. */
  readonly empty: ComponentChildren
  /** Shown in a list without rows that fits the filters. */
  readonly noMatch?: string
}

export interface DetailProps {
  readonly id: string
  readonly onClose: () => void
}

export function ListPage<Item>(props: ListPageProps<Item>) {
  const { title, path, nouns, rows, actions, detail: Detail } = props
  const { path: at, query } = route.value
  const id = at[1]
  const back = () => go(href([path], query))
  const { total = rows.hasMore ? undefined : rows.items.length } = rows
  const count =
    total === undefined
      ? `${rows.items.length}+ ${nouns[1]}`
      : `${total.toLocaleString('en')} ${nouns[total === 1 ? 0 : 1]}`
  return (
    <>
      <PageHead title={title} count={rows.isLoaded ? count : undefined} actions={actions} />
      <div class={id ? 'split open' : 'split'}>
        <section>
          <Filters fields={props.filters} hint={props.searchHint} />
          <Failed problem={rows.problem} />
          <Rows {...props} current={id} />
        </section>
        {id && <Detail key={id} id={id} onClose={back} />}
      </div>
    </>
  )
}

function Rows<Item>(props: ListPageProps<Item> & { readonly current: string | undefined }) {
  const { title, path, rows, columns, current, picked, idOf, empty, noMatch } = props
  const { query } = route.value
  // A page with many rows is drawn again only if one of these changed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the others are the same in effect
  const table = useMemo(
    () => (
      <Table
        {...props}
        items={rows.items}
        label={title}
        hrefOf={(one) => href([path, idOf(one)], query)}
      />
    ),
    [rows.items, columns, current, picked?.value, query],
  )
  const isFiltered = [...query.keys()].some((name) => name !== 'org')
  if (rows.items.length === 0) {
    if (!rows.isLoaded) return null
    if (!isFiltered) return <div class="scroll">{empty}</div>
    return (
      <Empty title="Nothing matches these filters">
        {noMatch && <p>{noMatch}</p>}
        <Button work={() => go(href([path], { org: query.get('org') ?? '' }))}>
          Clear the filters
        </Button>
      </Empty>
    )
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="rows" tabIndex={0} aria-label="List">
      {table}
      {rows.hasMore && <Button work={rows.more}>Show more</Button>}
      {rows.items.length >= maxRows && (
        <p class="hint">These are the newest {maxRows}: filter to find others.</p>
      )}
    </section>
  )
}

interface FiltersProps {
  readonly fields: readonly FilterField[]
  readonly hint: string
}

function Filters({ fields, hint }: FiltersProps) {
  const { query } = route.value
  const [isOpen, open] = useState(false)
  const known = ['search', 'org', ...fields.map(({ name }) => name)]
  const others = [...query].filter(([name]) => !known.includes(name))
  const active = fields.filter(({ name }) => query.has(name)).length
  return (
    <search class="filters" aria-label="Filters" data-open={isOpen}>
      <Search hint={hint} />
      <button type="button" class="phone" aria-expanded={isOpen} onClick={() => open(!isOpen)}>
        Filters{active > 0 && ` (${active})`}
      </button>
      {fields.map((field) => (
        <Choice key={field.name} {...field} />
      ))}
      {others.map(([name, value]) => (
        <Button key={name} kind="chip" work={() => filter({ [name]: undefined })}>
          {name}: {value} ✕
        </Button>
      ))}
    </search>
  )
}

/** Milliseconds after the last letter before a search begins. */
const pauseMs = 60

function Search({ hint }: { readonly hint: string }) {
  const field = useRef<HTMLInputElement>(null)
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const value = route.value.query.get('search') ?? ''
  // The address changes when filters are cleared; the field follows, except while the reader types.
  useEffect(() => {
    const { current } = field
    if (current && waiting.current === undefined && current.value !== value) current.value = value
  }, [value])
  useEffect(() => () => clearTimeout(waiting.current), [])
  return (
    <input
      ref={field}
      type="search"
      aria-label={`Search: ${hint}`}
      autocomplete="off"
      spellcheck={false}
      placeholder={hint}
      defaultValue={value}
      onInput={({ currentTarget: { value: typed } }) => {
        clearTimeout(waiting.current)
        waiting.current = setTimeout(() => {
          waiting.current = undefined
          filter({ search: typed || undefined })
        }, pauseMs)
      }}
    />
  )
}

function Choice({ name, label, choices }: FilterField) {
  const value = route.value.query.get(name) ?? ''
  const isKnown = choices.some((one) => value === '' || one === value || one[0] === value)
  return (
    <Select
      label={label}
      value={value}
      // The address may name a value that is not offered.
      choices={[['', `${label}: any`], ...choices, ...(isKnown ? [] : [value])]}
      onChange={(chosen) => filter({ [name]: chosen || undefined })}
    />
  )
}

interface DetailFrameProps extends TitledProps {
  /** Accessible name of the detail. */
  readonly label: string
  readonly problem: Problem | undefined
  readonly onClose: () => void
}

/** The frame of a detail; without content it says why, and can still be closed. */
export function Detail({ label, title, problem, onClose, actions, children }: DetailFrameProps) {
  return (
    <section class="detail" aria-label={label}>
      <header>
        <div class="line">
          <h2>{title}</h2>
          <Button kind="plain" label="Close the detail" work={onClose}>
            ✕
          </Button>
        </div>
        {children && <div class="actions">{actions}</div>}
      </header>
      <div class="stack">
        <Failed problem={problem} />
        {children}
      </div>
    </section>
  )
}
