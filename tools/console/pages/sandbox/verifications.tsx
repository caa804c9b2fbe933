// The verifications of an organization.
/** @jsxImportSource preact */
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Status } from '../ui/badge.tsx'
import { Masked } from '../ui/masked.tsx'
import { listed, RecordsPage } from './records.tsx'
import type { Verification } from './resources.ts'
import { VerificationDetail } from './verification.tsx'

export function VerificationsPage() {
  return (
    <RecordsPage<Verification>
      title="Verifications"
      what="verification"
      row={(one) => <Row of={one} />}
      detail={VerificationDetail}
      none="Create one here or through the API. Its subject gets a link, its events go to every subscription, and this list updates by itself."
      more={
        <a class="button" href={href(['subscriptions'])}>
          Add a subscription
        </a>
      }
    />
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
