// Security event tokens (RFC 8417) as a transmitter pushes them (RFC 8935): the body is a signed token,
// and the replies are the standard's own.
import type { ReceiverOptions } from '../options.ts'
import type { Outcome } from '../outcome/outcome.ts'
import type { ReplyChange } from '../outcome/reply.ts'
import { rejected } from '../outcome/table.ts'
import { isObject, joinedId, valueAt } from '../protocol/json-paths.ts'
import { schemes } from '../protocol/scheme.ts'
import type { BodyJwsRule } from '../protocol/scheme-definition.ts'

/**
 * Options of `createReceiver` for security event tokens, as SSF, CAEP and RISC push them. An event
 * has its URI as name, `jti` as id and `sub_id` as entity. Pass `issuer` and `audience`, because a key
 * set may sign for others too.
 *
 * @example createReceiver({ ...securityEvents({ algorithms: ['rs256'], issuer, audience }), secret: jwks(…) })
 */
export function securityEvents(
  rule: Omit<BodyJwsRule, 'type'>,
): Readonly<Required<Pick<ReceiverOptions, 'scheme' | 'envelope' | 'respond'>>> {
  const scheme = schemes.bodyJws({ ...rule, type: 'secevent+jwt' })
  return Object.freeze({ scheme, envelope: readToken, respond })
}

/** One reading for each event; all of a token are about the same subject. */
function readToken(token: unknown) {
  const [events, toe, iat, subject] = ['events', 'toe', 'iat', 'sub_id'].map((claim) =>
    valueAt(token, claim),
  )
  const id = String(valueAt(token, 'jti') ?? '')
  const entity = entityOf(subject)
  const occurredAt = Number(toe ?? iat)
  const readings = Object.entries(isObject(events) ? events : {}).map(([name, data]) => ({
    ...{ name, id, data, occurredAt },
    ...(entity && { entity }),
  }))
  // An inbox tells one event by `jti` alone.
  return readings.length === 1 && readings[0] ? readings[0] : readings
}

/** The members of a subject that name it (RFC 9493); an address or a number would be kept in clear. */
const naming: Readonly<Record<string, readonly string[]>> = {
  opaque: ['id'],
  iss_sub: ['iss', 'sub'],
  account: ['uri'],
  did: ['url'],
}

function entityOf(subject: unknown) {
  const members = naming[String(valueAt(subject, 'format'))] ?? []
  const ids = members.map((member) => valueAt(subject, member))
  if (ids.length === 0 || !ids.every((one) => typeof one === 'string')) return undefined
  return { type: 'subject', id: joinedId(ids, '#') }
}

/** RFC 8935, 2.2 to 2.4: 202, or 400 with a code of its own; a fault on our side stays one. */
function respond(outcome: Outcome): ReplyChange {
  if (outcome.kind === 'failed') return undefined
  if (outcome.kind !== 'rejected') return { status: 202, body: '' }
  const { code } = outcome
  const err = code === 'SIGNATURE_MISMATCH' ? 'authentication_failed' : 'invalid_request'
  const headers = { 'content-type': 'application/json', 'content-language': 'en' }
  return { status: 400, headers, body: JSON.stringify({ err, description: rejected[code][1] }) }
}
