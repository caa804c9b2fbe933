// Parts of most presets: their scheme, their pages, and the decisions that a review may change.
import { schemes } from '../protocol/scheme.ts'
import type { Scheme, SchemeDefinition } from '../protocol/scheme-definition.ts'
import type { VendorDocument } from '../protocol/vendor.ts'

/** A definition without its name. */
export type Unnamed = Omit<SchemeDefinition, 'name'>

/** HMAC-SHA256 of the body in hex under a UTF-8 secret, as most senders sign, or what differs. */
export const hex = (
  header: SchemeDefinition['header'],
  difference: Partial<Unnamed> = {},
): Unnamed => ({
  ...({ header, algorithm: 'sha256', key: 'utf8', encoding: 'hex' } as const),
  ...({ grammar: 'plain', signed: '{body}' } as const),
  ...difference,
})

/** The scheme of a vendor: that of `hex`. */
export const bodyHmac = (name: string, ...signing: Parameters<typeof hex>): Scheme =>
  schemes.define({ name, ...hex(...signing) })

/** Pages of the vendor's documents: a line for each, the day on which it was read and its address. */
export const pages = (lines: string): readonly VendorDocument[] =>
  lines
    .trim()
    .split('\n')
    .map((line) => {
      const [read = '', url = ''] = line.trim().split(' ')
      return { url, read }
    })

export const approvedOrRejected = ['verification.approved', 'verification.rejected'] as const
