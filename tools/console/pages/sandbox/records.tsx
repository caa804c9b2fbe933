// The records of an organization: filters, the list, one record beside it, and the form of a new one.
/** @jsxImportSource preact */
import { computed } from '@preact/signals'
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { call, type FieldProblem, Problem, query } from '../call.ts'
import { useList, useLoad } from '../load.ts'
import { filter, go, href, route } from '../route.ts'
import { Empty, Failed } from '../ui/detail.tsx'
import { type FormField, FormFields, toBody, type Values, words } from '../ui/form.tsx'
import { RevealButton } from '../ui/masked.tsx'
import { Rows } from '../ui/rows.tsx'
import { Choice, Search } from '../ui/search.tsx'
import { Page } from '../ui/shell.tsx'
import {
  api,
  control,
  keyOf,
  type OrganizationRow,
  type ListPage as PageOf,
  type Pagination,
  read,
} from './resources.ts'

const limit = 50

/** The names in all rows are revealed together. */
export const listed = 'names in lists'

interface RecordsProps<Item> {
  readonly title: 'Verifications' | 'Clients'
  readonly what: 'verification' | 'client'
  readonly filters: readonly FilterField[]
  /** The form of a new record. */
  readonly fields: readonly FormField[]
  readonly first?: Values
  readonly hint?: string
  readonly row: (item: Item) => ComponentChildren
  readonly detail: FunctionComponent<{ readonly id: string; readonly onClose: () => void }>
  /** Shown in an empty list, above the button that creates a record. */
  readonly none: ComponentChildren
  readonly more?: ComponentChildren
}

export interface FilterField {
  readonly name: string
  readonly choices?: readonly string[]
  /** Shown if it is chosen from a list of further filters. */
  readonly isRare?: boolean
}

const firstOrganization = 'org_acme'

/** The organization of the address, so that a shared address shows the same. */
const organization = computed(() => route.value.query.get('org') ?? firstOrganization)

function Organizations() {
  const { data } = useList<OrganizationRow>(`${control}/organizations`, ['state'])
  return (
    <label>
      <span class="hidden">Organization</span>
      <select
        value={organization.value}
        onChange={({ currentTarget: { value } }) =>
          filter({ org: value === firstOrganization ? undefined : value, page: undefined })
        }
      >
        {(data ?? []).map(({ id, name, plan }) => (
          <option key={id} value={id}>
            {name} · {plan}
          </option>
        ))}
      </select>
    </label>
  )
}

export function RecordsPage<Item extends { readonly id: string }>(props: RecordsProps<Item>) {
  if (route.value.path[1] !== 'new') return <Records {...props} />
  return (
    <Page title={`New ${props.what}`} actions={<Organizations />}>
      <NewRecord {...props} />
    </Page>
  )
}

function Records<Item extends { readonly id: string }>(props: RecordsProps<Item>) {
  const { title, what, row, detail: Detail } = props
  const list = `${what}s`
  const { path, query: search } = route.value
  const id = path[1]
  const filters = [...search].filter(([name, value]) => name !== 'org' && value.trim())
  const text = query({ limit, ...Object.fromEntries(filters) })
  const { data, problem } = useLoad({
    key: `${list} ${organization.value} ${text}`,
    ask: (signal) => read<PageOf<Item>>(`/${list}${text}`, organization.value, signal),
    on: [what, 'state'],
  })
  const back = () => go(href([list], search))
  return (
    <>
      <header>
        <h1>{title}</h1>
        <Organizations />
        <RevealButton of={listed}>Reveal names</RevealButton>
        <New what={what} />
      </header>
      <div class={id ? 'split open' : 'split'}>
        <section aria-label="List">
          <Filters fields={props.filters} />
          {problem && <Failed problem={problem} />}
          <Rows
            items={data?.data ?? []}
            label={title}
            kind={what}
            idOf={(one) => one.id}
            hrefOf={(one) => href([list, one.id], search)}
            row={row}
            current={id}
            onBack={id ? back : undefined}
            empty={data && (filters.length > 0 ? <NoMatch list={list} /> : <Nothing {...props} />)}
          />
          {data && <Pager of={data.pagination} />}
        </section>
        {id && <Detail key={id} id={id} onClose={back} />}
      </div>
    </>
  )
}

function Filters({ fields }: { readonly fields: readonly FilterField[] }) {
  const { query: chosen } = route.value
  const isShown = ({ name, isRare }: FilterField) => !isRare || chosen.has(name)
  const more = fields.filter((one) => !isShown(one))
  return (
    <search class="filters" aria-label="Filters">
      <Search />
      {fields.filter(isShown).map(({ name, choices }) =>
        choices ? (
          <Choice key={name} name={name} title={words(name)} choices={choices} />
        ) : (
          <div class="field" key={name}>
            <label for={`filter-${name}`}>{words(name)}</label>
            <input
              id={`filter-${name}`}
              value={chosen.get(name)?.trim() ?? ''}
              placeholder={name.startsWith('date') ? '2026-01-31T12:00:00Z' : 'a UUID'}
              onChange={({ currentTarget }) =>
                filter({ [name]: currentTarget.value || undefined, page: undefined })
              }
            />
          </div>
        ),
      )}
      {more.length > 0 && (
        <label class="field">
          <span class="hidden">More filters</span>
          <select value="" onChange={({ currentTarget }) => filter({ [currentTarget.value]: ' ' })}>
            <option value="">More filters…</option>
            {more.map(({ name }) => (
              <option key={name} value={name}>
                {words(name)}
              </option>
            ))}
          </select>
        </label>
      )}
    </search>
  )
}

function Pager({ of }: { readonly of: Pagination }) {
  const { page, total, totalPages, hasNext, hasPrev } = of
  if (total === 0) return null
  const to = (next: number) => () => filter({ page: next === 1 ? undefined : String(next) })
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span>
        {total} in all{totalPages > 1 && `, page ${page} of ${totalPages}`}
      </span>
      {totalPages > 1 && (
        <>
          <button type="button" disabled={!hasPrev} onClick={to(page - 1)}>
            Newer
          </button>
          <button type="button" disabled={!hasNext} onClick={to(page + 1)}>
            Older
          </button>
        </>
      )}
    </nav>
  )
}

type NewProps = Pick<RecordsProps<never>, 'what' | 'fields' | 'first' | 'hint'>

/** Creates a record over the API itself, which says what is wrong with a field. */
function NewRecord({ what, fields, first = {}, hint }: NewProps) {
  const [values, setValues] = useState<Values>(first)
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const [errors, setErrors] = useState<readonly FieldProblem[]>([])
  const create = async () => {
    const { body, errors: own } = toBody(fields, values)
    setErrors(own)
    setProblem(undefined)
    if (own.length > 0) return
    const org = organization.peek()
    const headers = { 'x-api-key': keyOf(org) }
    try {
      const path = `${api}/${what}s`
      const { id } = await call<{ readonly id: string }>(path, { method: 'POST', body, headers })
      go(href([`${what}s`, id], { org: org === firstOrganization ? undefined : org }))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setErrors(error.errors)
      if (error.errors.length === 0) setProblem(error)
    }
  }
  return (
    <form
      class="stack card"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        create()
      }}
    >
      {problem && <Failed problem={problem} />}
      {errors.length > 0 && (
        <p class="notice" data-tone="bad" role="alert">
          {errors.length === 1 ? 'One field is' : `${errors.length} fields are`} not valid for the
          API.
        </p>
      )}
      <FormFields {...{ fields, values, errors }} onChange={setValues} />
      <div class="actions">
        <button type="submit" class="main">
          Create {what}
        </button>
        <a class="button" href={href([`${what}s`])}>
          Cancel
        </a>
        {hint && <span class="hint">{hint}</span>}
      </div>
    </form>
  )
}

const New = ({ what }: { readonly what: string }) => (
  <a class="button main" href={href([`${what}s`, 'new'])}>
    New {what}
  </a>
)

const NoMatch = ({ list }: { readonly list: string }) => (
  <Empty title="Nothing matches these filters">
    <button type="button" onClick={() => go(href([list]))}>
      Clear the filters
    </button>
  </Empty>
)

type NothingProps = Pick<RecordsProps<never>, 'what' | 'none' | 'more'>

const Nothing = ({ what, none, more }: NothingProps) => (
  <Empty title={`No ${what} yet`}>
    <p>{none}</p>
    <div class="actions">
      <New what={what} />
      {more}
    </div>
  </Empty>
)
