// Which action leads a verification from which status to which: the table that section 3 of the
// service's document does not show. Pure; it changes nothing.
import type { EventName } from '../../src/protocol/names.ts'
import type { VerificationStatus } from '../../src/protocol/resources.ts'

/** Actions of the subject, the operator or the clock on a verification. */
export const actionNames = [
  'start',
  'submit',
  'review',
  'approve',
  'reject',
  'cancel',
  'expire',
] as const

export type ActionName = (typeof actionNames)[number]

interface Transition {
  readonly from: readonly VerificationStatus[]
  readonly to: VerificationStatus
  readonly actor: 'subject' | 'operator' | 'service'
  /** Its event of section 6; start and review have none. */
  readonly event?: EventName
}

const decidable = ['submitted', 'pending_review'] as const
const unfinished = ['initiated', 'in_progress'] as const

export const transitions: Readonly<Record<ActionName, Transition>> = {
  start: { from: ['initiated'], to: 'in_progress', actor: 'subject' },
  submit: {
    from: ['in_progress'],
    to: 'submitted',
    actor: 'subject',
    event: 'verification.submitted',
  },
  review: { from: ['submitted'], to: 'pending_review', actor: 'operator' },
  approve: { from: decidable, to: 'approved', actor: 'operator', event: 'verification.approved' },
  reject: { from: decidable, to: 'rejected', actor: 'operator', event: 'verification.rejected' },
  cancel: {
    from: [...unfinished, ...decidable],
    to: 'canceled',
    actor: 'operator',
    event: 'verification.canceled',
  },
  expire: { from: unfinished, to: 'expired', actor: 'service', event: 'verification.expired' },
}

/** The actions that are legal in a status, in the order of a verification's life. */
export function allowedIn(status: string): ActionName[] {
  return actionNames.filter((name) => transitions[name].from.some((from) => from === status))
}

/** Tells whether the subject can still complete a verification. */
export function isOpen({ resource }: { readonly resource: { readonly status: string } }): boolean {
  return unfinished.some((status) => status === resource.status)
}
