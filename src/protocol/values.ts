// The documented values of the service's fields, without the schemas that check them.

/** Section 2.1. */
export const verificationTypes = ['idv', 'kyc', 'share'] as const
/** Sections 2.1 and 3. */
export const verificationStatuses = [
  'initiated',
  'in_progress',
  'submitted',
  'pending_review',
  'approved',
  'rejected',
  'canceled',
  'expired',
] as const
/** Section 3: the statuses that no later event leaves. */
export const terminalStatuses = ['approved', 'rejected', 'canceled', 'expired'] as const
/** Section 2.1: the steps that a verification can ask for. */
export const requirementNames = [
  'document',
  'person',
  'location',
  'contact',
  'biometric_face',
  'business',
  'pep_hio',
  'financial',
  'consent',
  'attestation',
  'estate',
] as const
/** Sections 2.4 and 2.5: the flags, which say nothing of a person. */
export const flagKeys = /^(?:active|hasNext|hasPrev)$/
/** Section 2.4. */
export const memberTypes = ['individual', 'business'] as const

/** Objects whose keys and values are the customer's own and may be anything (sections 2.4 and 4.1). */
const freeObjects = /^(?:metadata|config)$/
/**
 * The documented objects (sections 2 and 5); below any other key no value is known. The fields of steps
 * and of the audit trail are not shown (section 2.2), and those of a third party are a person's.
 */
const documentedObjects = /^(?:data|payload|resource|object|verification|client|pagination)$/
/** Lists of documented words (section 2.1). */
const documentedLists = /^requirements$/

/** Where a value stands: at a documented place, below a key that is not, or in a free object. */
export type ValuePlace = 'documented' | 'unknown' | 'free'

/** The place of what is within an object or list; `under` is its key, empty for a whole body. */
export function placeWithin(under: string, place: ValuePlace, isList: boolean): ValuePlace {
  if (place === 'free' || freeObjects.test(under)) return 'free'
  const isKnown = documentedObjects.test(under) || (isList && documentedLists.test(under))
  return under === '' || isKnown ? place : 'unknown'
}
