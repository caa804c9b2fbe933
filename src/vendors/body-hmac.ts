// The scheme that most vendors have, and variations of it.
import { schemes } from '../protocol/scheme.ts'
import type { Scheme, SchemeDefinition } from '../protocol/scheme-definition.ts'

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
