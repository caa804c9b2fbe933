// The service's scheme in its plain reading (section 6, rule 1), made without the builders, so that
// who needs no other does not carry them.
import type { Scheme } from './scheme-definition.ts'

/**
 * HMAC-SHA256 over the body, in hex, base64 or base64url, with or without `sha256=`, several
 * separated by commas or spaces.
 */
export const serviceScheme: Scheme = /* @__PURE__ */ Object.freeze({
  name: 'service',
  header: 'X-Service-Signature',
  algorithm: 'sha256',
  key: 'utf8',
  encoding: 'any',
  grammar: { prefix: 'sha256=', optional: true },
  signed: '{body}',
  tolerance: 'none',
  template: [{ value: 'body' }],
  authenticity: 'signature',
} as const)
