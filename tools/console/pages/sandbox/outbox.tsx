// The mail that the service would have sent: invitations with their link, and shared results.
/** @jsxImportSource preact */
import { useList } from '../load.ts'
import { href, route } from '../route.ts'
import { Time } from '../time.tsx'
import { Copy } from '../ui/actions.tsx'
import { Json } from '../ui/bytes.tsx'
import { Detail, type DetailProps, type FilterField, ListPage } from '../ui/list-page.tsx'
import { Empty, Facts, Id, Notice } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'
import { NewVerification } from './overview.tsx'
import { control, type Mail } from './resources.ts'

const useMails = () => useList<Mail>(`${control}/outbox`, ['mail', 'state'])

const filters: readonly FilterField[] = [
  { name: 'kind', label: 'Kind', choices: ['invitation', ['shared_result', 'shared result']] },
]

export function OutboxPage() {
  const { data, problem } = useMails()
  const { search = '', kind } = Object.fromEntries(route.value.query)
  const words = search.toLowerCase()
  const items = (data ?? [])
    .filter((one) => `${one.to} ${one.subject}`.toLowerCase().includes(words))
    .filter((one) => kind === undefined || one.kind === kind)
    .reverse()
  const rows = { items, problem, isLoaded: data !== undefined, hasMore: false, more() {} }
  return (
    <ListPage
      title="Outbox"
      path="outbox"
      nouns={['mail', 'mails']}
      rows={rows}
      filters={filters}
      columns={columns}
      searchHint="Recipient or subject"
      idOf={({ id }) => id}
      detail={MailDetail}
      empty={
        <Empty title="No mail yet">
          <p>
            A verification with an email address sends its subject an invitation; third parties get
            the result when it is approved. Both appear here; the sandbox sends no mail.
          </p>
          <NewVerification />
        </Empty>
      }
    />
  )
}

const columns: readonly Column<Mail>[] = [
  { head: 'To', cell: ({ to }) => to },
  { head: 'Subject', kind: 'main', cell: ({ subject }) => subject },
  { head: 'Kind', kind: 'more', cell: ({ kind }) => kind.replace('_', ' ') },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

function MailDetail({ id, onClose }: DetailProps) {
  const { data, problem } = useMails()
  const mail = data?.find((one) => one.id === id)
  const { link, verificationId, shared } = mail ?? {}
  const actions = link && (
    <>
      <a class="button main" href={new URL(link).pathname} target="_blank" rel="noreferrer">
        Open the subject’s page
      </a>
      <Copy text={() => link}>Copy link</Copy>
    </>
  )
  return (
    <Detail label="Mail" title={mail?.subject ?? 'Mail'} {...{ problem, onClose, actions }}>
      {mail ? (
        <>
          <Facts
            of={{
              To: mail.to,
              Created: <Time at={mail.createdAt} />,
              Verification: verificationId && (
                <Id of={verificationId} href={href(['verifications', verificationId])} />
              ),
            }}
          />
          <p class="mail">{mail.text}</p>
          {shared && <Json label="Shared result" value={shared} />}
        </>
      ) : (
        data && <Notice tone="bad">There is no such mail.</Notice>
      )}
    </Detail>
  )
}
