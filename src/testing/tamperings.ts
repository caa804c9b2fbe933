// The names of what can be wrong with a delivery's bytes or its signature: one table for the test
// kit, `send --fault` and the faults of the sandbox.

/** The ways to tamper with a delivery; a receiver rejects every one of them. */
export const tamperings = [
  'tampered',
  'unsigned',
  'malformed',
  'wrong-secret',
  'stale',
  'truncated',
  'reserialized',
] as const

export type Tampering = (typeof tamperings)[number]
