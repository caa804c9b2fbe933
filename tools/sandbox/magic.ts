// Subject names that trigger a result how a verification goes on by itself, right after its creation.
import type { ActionName } from './transitions.ts'

/** The behavior that a magic name selects. */
export interface MagicName {
  readonly name: string
  readonly actions: readonly ActionName[]
  readonly effect: string
}

/** Magic subject names; they match whole and whatever the case. */
export const magicNames: readonly MagicName[] = [
  {
    name: 'Auto Approve',
    actions: ['start', 'submit', 'review', 'approve'],
    effect: 'the subject submits all steps and the operator approves, with a score of 97',
  },
  {
    name: 'Auto Reject',
    actions: ['start', 'submit', 'review', 'reject'],
    effect: 'the subject submits all steps and the operator rejects, with a score of 12',
  },
  {
    name: 'Auto Review',
    actions: ['start', 'submit', 'review'],
    effect: 'the subject submits all steps; the verification waits for an operator',
  },
  {
    name: 'No Answer',
    actions: [],
    effect: 'the subject never opens the link; the verification expires by the clock',
  },
]

/** API keys that always give one answer (section 5 and 8). */
export const magicKeys = [
  { key: 'key_acme', effect: 'Acme, Professional plan' },
  { key: 'key_globex', effect: 'Globex, Business plan' },
  { key: 'key_initech', effect: 'Initech, Enterprise plan' },
  { key: 'key_revoked', effect: '401 UNAUTHORIZED' },
  { key: 'key_unpaid', effect: '402 PAYMENT_REQUIRED' },
  { key: 'key_noplan', effect: '403 FORBIDDEN' },
  { key: 'key_limited', effect: '429 RATE_LIMITED' },
] as const

export function magicActions(subjectName: string | null): readonly ActionName[] {
  const wanted = subjectName?.trim().toLowerCase()
  return magicNames.find(({ name }) => name.toLowerCase() === wanted)?.actions ?? []
}
