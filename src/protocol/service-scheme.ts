// The service's scheme in its plain reading (section 6, rule 1), made without the builders, so that
// a bundle without other schemes does not carry them; and the check of what is passed as a scheme.
import { invalid, shown } from '../foundation/check.ts'
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

/** @throws WebhookError `SCHEME_INVALID` for what no builder of schemes made */
export function checkScheme(scheme: Scheme): void {
  const { format, name, template } = scheme ?? {}
  // A scheme that was written to JSON is data alone, and goes through schemes.define() again.
  const isReadable = typeof format?.readerOf === 'function' || name === serviceScheme.name
  if (Array.isArray(template) && isReadable) return
  throw invalid(
    `scheme must be created with schemes.define() or another builder of schemes, got ${shown(scheme)}`,
    'SCHEME_INVALID',
  )
}
