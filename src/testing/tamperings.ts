// The names of what can be wrong with a delivery's bytes or signature: one table for the test kit,
// `send --fault` and the sandbox's faults.

/** The ways to tamper with a delivery; a receiver rejects every one of them. */
export const tamperings = [
  /** One byte of the body changed after signing. */
  'tampered',
  /** The signature header is missing. */
  'unsigned',
  /** The signature header does not have the scheme's form. */
  'malformed',
  /** Signed with another secret. */
  'wrong-secret',
  /** Correctly signed, at a time outside the scheme's tolerance. */
  'stale',
  /** The second half of the body is missing. */
  'truncated',
  /** A parser or proxy wrote the same JSON with other white space. */
  'reserialized',
] as const

export type Tampering = (typeof tamperings)[number]
