// The records of an organization: the API's own filters, the list, and one record beside it.
/** @jsxImportSource preact */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { query } from '../call.ts'
import { useLoad } from '../load.ts'
import { go, href, route } from '../route.ts'
import { Empty, Failed } from '../ui/empty.tsx'
import { RevealButton } from '../ui/masked.tsx'
import { Rows } from '../ui/rows.tsx'
import { Filters } from './filters.tsx'
import { NewRecord } from './new-record.tsx'
import { Organizations, organization } from './organization.tsx'
import { Pager } from './pager.tsx'
import { type Page, read } from './resources.ts'

const limit = 50

/** The names in all rows are revealed together. */
export const listed = 'names in lists'

interface RecordsProps<Item> {
  readonly title: 'Verifications' | 'Clients'
  readonly what: 'verification' | 'client'
  readonly row: (item: Item) => ComponentChildren
  readonly detail: FunctionComponent<{ readonly id: string; readonly onClose: () => void }>
  /** Shown in an empty list, above the button that creates a record. */
  readonly none: ComponentChildren
  readonly more?: ComponentChildren
}

export function RecordsPage<Item extends { readonly id: string }>(props: RecordsProps<Item>) {
  if (route.value.path[1] !== 'new') return <Records {...props} />
  const { what } = props
  const operation = what === 'client' ? 'createClient' : 'createVerification'
  return <NewRecord {...{ what, operation }} path={`/${what}s`} />
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
    ask: (signal) => read<Page<Item>>(`/${list}${text}`, organization.value, signal),
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
          <Filters operation={`list${title}`} />
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
