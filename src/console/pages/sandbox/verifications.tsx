// The verifications of an organization: the API's own filters, the list, and one of them beside it.
/** @jsxImportSource preact */
import { query } from '../call.ts'
import { useLoad } from '../load.ts'
import { go, href, route } from '../route.ts'
import { Time } from '../time.tsx'
import { Status } from '../ui/badge.tsx'
import { Empty, Failed } from '../ui/empty.tsx'
import { Masked, RevealButton } from '../ui/masked.tsx'
import { Rows } from '../ui/rows.tsx'
import { Filters } from './filters.tsx'
import { NewRecord } from './new-record.tsx'
import { Organizations, organization } from './organization.tsx'
import { Pager } from './pager.tsx'
import { type Page, read, type Verification } from './resources.ts'
import { VerificationDetail } from './verification.tsx'

const limit = 50
const listed = 'names in lists'

export function VerificationsPage() {
  if (route.value.path[1] !== 'new') return <Verifications />
  return <NewRecord what="verification" operation="createVerification" path="/verifications" />
}

function Verifications() {
  const { path, query: search } = route.value
  const id = path[1]
  const orgId = organization.value
  const filters = Object.fromEntries(
    [...search].filter(([name, value]) => name !== 'org' && value.trim()),
  )
  const text = query({ limit, ...filters })
  const { data, problem } = useLoad({
    key: `verifications ${orgId} ${text}`,
    ask: (signal) => read<Page<Verification>>(`/verifications${text}`, orgId, signal),
    on: ['verification', 'state'],
  })
  const back = () => go(href(['verifications'], search))
  return (
    <>
      <header>
        <h1>Verifications</h1>
        <Organizations />
        <RevealButton of={listed}>Reveal names</RevealButton>
        <a class="button main" href={href(['verifications', 'new'])}>
          New verification
        </a>
      </header>
      <div class={id ? 'split open' : 'split'}>
        <section aria-label="List">
          <Filters operation="listVerifications" />
          {problem && <Failed problem={problem} />}
          <Rows
            items={data?.data ?? []}
            label="Verifications"
            kind="verification"
            idOf={(one) => one.id}
            hrefOf={(one) => href(['verifications', one.id], search)}
            row={(one) => <Row of={one} />}
            current={id}
            onBack={id ? back : undefined}
            empty={data && <Nothing filtered={search.size > 0} />}
          />
          {data && <Pager of={data.pagination} />}
        </section>
        {id && <VerificationDetail key={id} id={id} onClose={back} />}
      </div>
    </>
  )
}

function Row({ of }: { readonly of: Verification }) {
  return (
    <>
      <span>
        <Status of={of.status} />
      </span>
      <span>
        <Masked of={listed}>{of.subjectName ?? of.subjectEmail}</Masked>{' '}
        <span class="muted mono">{of.id.slice(0, 8)}</span>
      </span>
      <span class="muted more">{of.type}</span>
      <span class="muted more">{of.requirements.join(', ')}</span>
      <span class="muted end">
        <Time at={of.createdAt} />
      </span>
    </>
  )
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  if (filtered) {
    return (
      <Empty title="Nothing fits these filters">
        <button type="button" onClick={() => go(href(['verifications']))}>
          Clear the filters
        </button>
      </Empty>
    )
  }
  return (
    <Empty title="No verification yet">
      <p>
        Create one here or over the API. Its subject gets a link, its events go to every
        subscription, and each step shows up in this list by itself.
      </p>
      <div class="actions">
        <a class="button main" href={href(['verifications', 'new'])}>
          New verification
        </a>
        <a class="button" href={href(['subscriptions'])}>
          Add a subscription
        </a>
      </div>
    </Empty>
  )
}
