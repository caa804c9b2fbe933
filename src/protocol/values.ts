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
/** Section 2.4. */
export const memberTypes = ['individual', 'business'] as const
