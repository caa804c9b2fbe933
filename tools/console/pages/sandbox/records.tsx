// The records of an organization: the list with the API's filters, and the form of a new one.
import { computed } from '@preact/signals'
import type { Pagination } from '../../../../src/protocol/api-schemas.ts'
import type { ListedKey, Overview } from '../../../sandbox/console.ts'
import type { Organization } from '../../../sandbox/schemas/snapshot.ts'
import { filter, go, href, queryOf, route } from '../route.ts'
import { at, call, listAt, useLoad } from '../server.ts'
import { Form, type FormField, type Values, words } from '../ui/form.tsx'
import { type Filters, ListPage, type ListPageProps } from '../ui/list.tsx'
import { Empty, LinkButton, Page, Select } from '../ui/parts.tsx'

/** The routes of the control plane, of the service's API, and of this console. */
export const control = '/_sandbox'
export const api = '/v2/api'
export const own = '/_console'

export interface Assumptions {
  readonly data: readonly Readonly<Record<'section' | 'topic' | 'decision', string>>[]
  readonly magicNames: readonly { readonly name: string; readonly effect: string }[]
}

export interface PageOf<Item> {
  readonly data: readonly Item[]
  readonly pagination: Pagination
}

const everything = ['delivery', 'verification', 'clock', 'state']
export const overview = at<Overview>(`${own}/overview`, everything)
export const assumptions = at<Assumptions>(`${control}/assumptions`)

interface RecordsProps<Item>
  extends Pick<ListPageProps<Item>, 'filters' | 'columns' | 'detail' | 'searchHint'> {
  readonly what: 'verification' | 'client'
  readonly fields: readonly FormField[]
  readonly start?: Values
  /** Shown in an empty list, above the button that creates a record. */
  readonly empty: string
}

const firstOrganization = 'org_acme'

/** The organization of the address, so that a shared address shows the same. */
const organization = computed(() => route.value.query.get('org') ?? firstOrganization)

function Organizations() {
  const { data = [] } = useLoad(listAt<Organization>(`${control}/organizations`, ['state']))
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

export const NewVerification = () => (
  <LinkButton to={href(['verifications', 'new'])} words="New verification" isMain />
)

export function RecordsPage<Item extends { readonly id: string }>(props: RecordsProps<Item>) {
  const { what, empty, fields, start = {}, ...list } = props
  const path = `${what}s`
  if (route.value.path[1] === 'new') {
    return (
      <Page title={`New ${what}`} actions={<Organizations />}>
        <Form
          label={`New ${what}`}
          fields={fields}
          start={start}
          submit={`Create ${what}`}
          onSubmit={(body) => create(path, body)}
        >
          <LinkButton to={href([path])} words="Cancel" />
        </Form>
      </Page>
    )
  }
  const newOne = <LinkButton to={href([path, 'new'])} words={`New ${what}`} isMain />
  const actions = (
    <>
      <Organizations />
      {newOne}
    </>
  )
  return (
    <ListPage<Item>
      {...list}
      title={words(path)}
      nouns={[what, path]}
      read={(filters, size, signal) => read(`/${path}`, filters, { size, signal })}
      on={[what, 'state']}
      actions={() => actions}
      empty={<Empty title={`No ${what} yet`} text={empty} actions={newOne} />}
    />
  )
}

/** Reads the newest rows as the organization sees them, at no cost for its rate. */
async function read<Item>(
  path: string,
  { since: dateFrom, ...filters }: Filters,
  { size, signal }: { readonly size: number; readonly signal: AbortSignal },
) {
  const headers = { 'x-console-organization': organization.peek() }
  const items: Item[] = []
  // Pages of the API have at most a hundred rows.
  for (let page = 1; ; page++) {
    const query = queryOf({ dateFrom, ...filters, limit: 100, page })
    const address = `${own}/api${path}${query}`
    const { data, pagination } = await call<PageOf<Item>>(address, { headers, signal })
    items.push(...data)
    const { total, hasNext: hasMore } = pagination
    if (!hasMore || items.length >= size) return { items, total, hasMore }
  }
}

/** Creates a record over the API itself, which says what is wrong with a field. */
async function create(path: string, body: Values): Promise<void> {
  const org = organization.peek()
  const { data } = await call<{ readonly data: readonly ListedKey[] }>(`${own}/keys`)
  const key = data.find(({ organizationId, active }) => organizationId === org && active)?.key ?? ''
  const options = { method: 'POST', body, headers: { 'x-api-key': key } }
  const { id } = await call<{ readonly id: string }>(`${api}/${path}`, options)
  go(href([path, id], { org: org === firstOrganization ? undefined : org }))
}
