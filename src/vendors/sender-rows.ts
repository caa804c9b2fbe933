// The forms that senders share, each with what differs from it.
import type { SchemeDefinition } from '../protocol/scheme-definition.ts'

/** A sender of the table: its scheme but the name, or the header of its token. */
export interface SenderRow {
  readonly scheme: Omit<SchemeDefinition, 'name'>
  readonly document: string
}

type Difference = Partial<SenderRow['scheme']>

/** HMAC-SHA256 of the body in hex, and what differs from that. */
export function hex(
  header: SchemeDefinition['header'],
  document: string,
  difference: Difference = {},
): SenderRow {
  const usual = { algorithm: 'sha256', key: 'utf8', encoding: 'hex' } as const
  return {
    scheme: { header, ...usual, grammar: 'plain', signed: '{body}', ...difference },
    document,
  }
}

export const base64 = (
  header: SchemeDefinition['header'],
  document: string,
  difference: Difference = {},
) => hex(header, document, { encoding: 'base64', ...difference })

/** `t=…,v1=…` in hex over `t.body`. */
export const stamped = (header: string, document: string, signature = 'v1', timestamp = 't') =>
  hex(header, document, {
    grammar: { pairs: { signature, timestamp } },
    signed: '{timestamp}.{body}',
  })

/** Standard Webhooks, under its own header names or others. */
export const standard = (
  prefix: string,
  document: string,
  difference: Difference = {},
): SenderRow =>
  base64(`${prefix}-signature`, document, {
    key: 'whsec',
    grammar: { list: { prefix: 'v1,' } },
    signed: '{id}.{timestamp}.{body}',
    timestamp: { header: `${prefix}-timestamp` },
    id: { header: `${prefix}-id` },
    ...difference,
  })

export const prefixed = (prefix: string): Difference => ({ grammar: { prefix } })

export const token = (header: string, document: string, prefix?: string) => ({
  token: prefix === undefined ? { header } : { header, prefix },
  document,
})
