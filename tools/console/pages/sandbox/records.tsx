// The records of an organization: the list with the API's filters, and the form of a new one.
/** @jsxImportSource preact */
import { computed } from '@preact/signals'
import type { ComponentChildren, FunctionComponent } from 'preact'
import { call, query } from '../call.ts'
import { useList, useRows } from '../load.ts'
import { filter, go, href, route } from '../route.ts'
import { spanChoices, spanStart } from '../time.tsx'
import { Form, type FormField, type Values } from '../ui/form.tsx'
import { type DetailProps, type FilterField, ListPage } from '../ui/list-page.tsx'
import { Empty, Page, Select } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'
import { api, control, type ListedKey, type Organization, own, type PageOf } from './resources.ts'

interface RecordsProps<Item> {
  readonly title: 'Verifications' | 'Clients'
  readonly what: 'verification' | 'client'
  readonly filters: readonly FilterField[]
  readonly columns: readonly Column<Item>[]
  /** The form of a new record. */
  readonly fields: readonly FormField[]
  readonly start?: Values
  readonly detail: FunctionComponent<DetailProps>
  /** Shown in an empty list, above the button that creates a record. */
  readonly empty: ComponentChildren
}

/** A filter by time. */
export const since: FilterField = { name: 'since', label: 'Created', choices: spanChoices }

const firstOrganization = 'org_acme'

/** The organization of the address, so that a shared address shows the same. */
const organization = computed(() => route.value.query.get('org') ?? firstOrganization)

function Organizations() {
  const { data = [] } = useList<Organization>(`${control}/organizations`, ['state'])
  const names = data.map(({ id, name, plan }) => [id, `${name} · ${plan}`] as const)
  return (
    <Select
      label="Organization"
      value={organization.value}
      choices={names.length > 0 ? names : [organization.value]}
      onChange={(org) => filter({ org: org === firstOrganization ? undefined : org })}
    />
  )
}

export function RecordsPage<Item extends { readonly id: string }>(props: RecordsProps<Item>) {
  const { what, empty, fields, start } = props
  const list = `${what}s`
  const { path, query: search } = route.value
  const { since: span, org: _, ...filters } = Object.fromEntries(search)
  const rows = useRows({
    key: `${list} ${organization.value} ${search}`,
    ask: (size, signal) => {
      const dateFrom = spanStart(span)
      return read<Item>(`/${list}`, { filters: { dateFrom, ...filters }, size, signal })
    },
    on: [what, 'state'],
  })
  const newOne = (
    <a class="button main" href={href([list, 'new'])}>
      New {what}
    </a>
  )
  if (path[1] === 'new') {
    return (
      <Page title={`New ${what}`} actions={<Organizations />}>
        <Form
          label={`New ${what}`}
          fields={fields}
          {...(start && { start })}
          submit={`Create ${what}`}
          onSubmit={(body) => create(list, body)}
        >
          <a class="button" href={href([list])}>
            Cancel
          </a>
        </Form>
      </Page>
    )
  }
  return (
    <ListPage
      {...props}
      path={list}
      nouns={[what, list]}
      rows={rows}
      searchHint={what === 'client' ? 'Name, email or external ID' : 'Name or email'}
      idOf={({ id }) => id}
      actions={
        <>
          <Organizations />
          {newOne}
        </>
      }
      empty={
        <Empty title={`No ${what} yet`}>
          <p>{empty}</p>
          <div class="actions">{newOne}</div>
        </Empty>
      }
    />
  )
}

interface RecordsQuestion {
  readonly filters: Readonly<Record<string, string | undefined>>
  readonly size: number
  readonly signal: AbortSignal
}

/** Pages of the API have at most this many rows. */
const limit = 100

/** Reads the newest rows as the organization sees them, at no cost for its rate. */
async function read<Item>(path: string, { filters, size, signal }: RecordsQuestion) {
  const headers = { 'x-console-organization': organization.peek() }
  const items: Item[] = []
  for (let page = 1; ; page++) {
    const address = `${own}/api${path}${query({ ...filters, limit, page })}`
    const { data, pagination } = await call<PageOf<Item>>(address, { headers, signal })
    items.push(...data)
    const { total, hasNext: hasMore } = pagination
    if (!hasMore || items.length >= size) return { items, total, hasMore }
  }
}

/** Creates a record over the API itself, which says what is wrong with a field. */
async function create(list: string, body: Values): Promise<void> {
  const org = organization.peek()
  const { data } = await call<{ readonly data: readonly ListedKey[] }>(`${own}/keys`)
  const key = data.find(({ organizationId, active }) => organizationId === org && active)?.key ?? ''
  const headers = { 'x-api-key': key }
  const path = `${api}/${list}`
  const { id } = await call<{ readonly id: string }>(path, { method: 'POST', body, headers })
  go(href([list, id], { org: org === firstOrganization ? undefined : org }))
}
