// The mail that the service would have sent: invitations with their link, and shared results.
/** @jsxImportSource preact */
import { dotted } from '../../../../src/redaction/redact.ts'
import { useList } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Badge } from '../ui/badge.tsx'
import { Empty, Failed } from '../ui/detail.tsx'
import { isRevealed, Masked, RevealButton } from '../ui/masked.tsx'
import { Page } from '../ui/shell.tsx'
import { Copy } from '../ui/toast.tsx'
import { control, type MailRow } from './resources.ts'

const of = 'outbox'

export function OutboxPage() {
  const { data, problem } = useList<MailRow>(`${control}/outbox`, ['mail', 'state'])
  const mails = (data ?? []).toReversed()
  return (
    <Page title="Outbox" actions={<RevealButton of={of}>Reveal recipients</RevealButton>}>
      {problem && <Failed problem={problem} />}
      {data && mails.length === 0 && (
        <Empty title="No mail yet">
          <p>
            A verification with an e-mail address sends its subject an invitation; third parties get
            the result when it is approved. Both appear here, and are sent only by smtpUrl or
            IDV_SMTP_URL.
          </p>
          <a class="button main" href={href(['verifications', 'new'])}>
            New verification
          </a>
        </Empty>
      )}
      {mails.slice(0, 200).map((mail) => (
        <MailCard key={mail.id} mail={mail} />
      ))}
    </Page>
  )
}

function MailCard({ mail }: { readonly mail: MailRow }) {
  const { kind, to, subject, verificationId, createdAt, link, shared, transport, error } = mail
  // The subject of a shared result names who gets it.
  const title = kind === 'invitation' ? subject : <Masked of={of}>{subject}</Masked>
  return (
    <article class="card">
      <header>
        <h2>{title}</h2>
        <span class="actions">
          <Badge tone={transport === 'failed' ? 'bad' : 'calm'}>
            {transport === 'none' ? 'kept here' : transport}
          </Badge>
          <span class="muted">
            <Time at={createdAt} />
          </span>
        </span>
      </header>
      <p class="muted">
        To <Masked of={of}>{to}</Masked> · {kind.replace('_', ' ')} ·{' '}
        <a href={href(['verifications', verificationId])}>verification</a>
      </p>
      {error && (
        <p class="notice" data-tone="bad">
          {error}
        </p>
      )}
      {link && (
        <div class="actions">
          <a class="button" href={new URL(link).pathname} target="_blank" rel="noreferrer">
            Open the subject’s page
          </a>
          <Copy text={() => link}>Copy link</Copy>
        </div>
      )}
      {shared && (
        <pre>{JSON.stringify(isRevealed(of) ? shared : dotted(shared, 'resource'), null, 2)}</pre>
      )}
    </article>
  )
}
