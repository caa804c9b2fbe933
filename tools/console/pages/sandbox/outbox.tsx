// The mail that the service would have sent: invitations with their link, and shared results.
import type { Mail } from '../../../sandbox/schemas/snapshot.ts'
import { href } from '../route.ts'
import { listAt, Problem, useLoad } from '../server.ts'
import { Time } from '../time.tsx'
import { Json } from '../ui/bytes.tsx'
import { type Column, Detail, type Filters, ListPage } from '../ui/list.tsx'
import { Copy, Empty, Facts, Id, LinkButton } from '../ui/parts.tsx'
import { control, NewVerification } from './records.tsx'

const on = ['mail', 'state']
const outbox = listAt<Mail>(`${control}/outbox`, on)

const kinds = ['invitation', ['shared_result', 'shared result']] as const

export function OutboxPage() {
  return (
    <ListPage
      title="Outbox"
      nouns={['mail', 'mails']}
      read={read}
      on={on}
      filters={[{ name: 'kind', label: 'Kind', choices: kinds }]}
      columns={columns}
      searchHint="Recipient or subject"
      detail={MailDetail}
      empty={
        <Empty
          title="No mail yet"
          text="A verification with an email address sends its subject an invitation; third parties get the result when it is approved. Both appear here; the sandbox sends no mail."
          actions={<NewVerification />}
        />
      }
    />
  )
}

async function read({ search = '', kind }: Filters, _: number, signal: AbortSignal) {
  const mails = await outbox.ask(signal)
  const fits = ({ to, subject }: Mail) =>
    `${to} ${subject}`.toLowerCase().includes(search.toLowerCase())
  return { items: mails.filter((one) => fits(one) && (!kind || one.kind === kind)).reverse() }
}

const columns: readonly Column<Mail>[] = [
  { head: 'To', cell: ({ to }) => to },
  { head: 'Subject', kind: 'main', cell: ({ subject }) => subject },
  { head: 'Kind', kind: 'more', cell: ({ kind }) => kind.replace('_', ' ') },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

function MailDetail({ id }: { readonly id: string }) {
  const ask = async (signal: AbortSignal) => {
    const mail = (await outbox.ask(signal)).find((one) => one.id === id)
    if (!mail) throw new Problem(404, { code: 'NOT_FOUND', message: 'There is no such mail' })
    return mail
  }
  return (
    <Detail
      label="Mail"
      load={useLoad({ key: id, on, ask })}
      title={({ subject }) => subject}
      actions={({ link }) =>
        link && (
          <>
            <LinkButton
              to={new URL(link).pathname}
              words="Open the subject’s page"
              isMain
              isApart
            />
            <Copy text={() => link} words="Copy link" />
          </>
        )
      }
    >
      {({ to, createdAt, verificationId, text, shared }) => {
        const page = href(['verifications', verificationId ?? ''])
        const verification = verificationId && <Id of={verificationId} href={page} />
        return (
          <>
            <Facts of={{ To: to, Created: <Time at={createdAt} />, Verification: verification }} />
            <p class="mail">{text}</p>
            {shared && <Json label="Shared result" value={shared} />}
          </>
        )
      }}
    </Detail>
  )
}
