// Senders beyond identity, as plain schemes: how each signs, from its public documents.
import { checkOptionNames } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import type { Scheme } from '../protocol/scheme-definition.ts'
import { senderTable } from './sender-table.ts'

/** Options of a sender's scheme. */
export interface SenderOptions {
  /** Seconds to either side of a signed time, or 'none'. */
  readonly tolerance?: number | 'none'
}

export type SenderName = keyof typeof senderTable

/** Where it was read how each sender signs. */
export const senderDocuments: Readonly<Record<SenderName, string>> = Object.freeze(
  Object.fromEntries(Object.entries(senderTable).map(([name, { document }]) => [name, document])),
  // Trust is granted here: the names are those of the table.
) as Record<SenderName, string>

/**
 * The schemes of widespread senders. Tested with signatures made as their public documents say, not
 * on real deliveries.
 *
 * @example createReceiver({ secret, scheme: senders.slack() })
 */
export const senders = Object.freeze(
  Object.fromEntries(
    Object.keys(senderTable).map((name) => [
      name,
      (options: SenderOptions = {}) => schemeOf(name as SenderName, options),
    ]),
  ),
  // Trust is granted here too.
) as Readonly<Record<SenderName, (options?: SenderOptions) => Scheme>>

function schemeOf(name: SenderName, options: SenderOptions): Scheme {
  checkOptionNames(`senders.${name}`, options, ['tolerance'])
  const row = senderTable[name]
  if ('token' in row) return schemes.token(row.token)
  const { tolerance = row.scheme.tolerance } = options
  const definition = { name, ...row.scheme }
  return schemes.define(tolerance === undefined ? definition : { ...definition, tolerance })
}
