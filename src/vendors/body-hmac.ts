// Parts of most presets: their scheme, and the pages of documents that they were read from.
import { schemes } from '../protocol/scheme.ts'
import type { Scheme, SchemeDefinition } from '../protocol/scheme-definition.ts'
import type { VendorDocument } from '../protocol/vendor.ts'

/** A hex HMAC-SHA256 of the body under its UTF-8 secret, as most vendors sign, or what differs. */
export function bodyHmac(
  name: string,
  header: SchemeDefinition['header'],
  difference: Partial<SchemeDefinition> = {},
): Scheme {
  const usual = { algorithm: 'sha256', key: 'utf8', encoding: 'hex' } as const
  return schemes.define({
    ...{ name, header, ...usual, grammar: 'plain', signed: '{body}' },
    ...difference,
  })
}

/** A page of the vendor's documents, and the day on which it was read. */
export const page = (url: string, read = '2026-11-29'): VendorDocument => ({ url, read })
