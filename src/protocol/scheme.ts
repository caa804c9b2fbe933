// The builders of schemes. A scheme is data; a definition that could not read what a sender of it
// writes is refused here, before any delivery comes.
import { checkOptionNames, checkWholeNumber, shown } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { AddressList, parseRange } from '../signature/addresses.ts'
import { readsItsOwn } from '../signature/grammar.ts'
import { definedClaims } from '../signature/header-claims.ts'
import { isPublicKey } from '../signature/hmac/hmac.ts'
import { CompactBody, CompactJws, schemeAlgorithm } from '../signature/jws.ts'
import {
  checkBodyJws,
  checkDistinct,
  checkedGrammar,
  checkedTimestamp,
  checkedTolerance,
  checkFields,
  checkNeighbours,
  checkSources,
  checkUrlForm,
  defaultTolerance,
  headerName,
  parseTemplate,
  refuse,
  signatureHeaders,
} from './scheme-checks.ts'
import type {
  AddressRule,
  BodyJwsRule,
  JwsAlgorithm,
  Scheme,
  SchemeDefinition,
} from './scheme-definition.ts'
import { serviceScheme } from './service-scheme.ts'

export type {
  Authenticity,
  Grammar,
  Scheme,
  SchemeDefinition,
} from './scheme-definition.ts'

/**
 * Any scheme, as data.
 *
 * @throws WebhookError `SCHEME_INVALID`, saying which part and how to fix it.
 * @example
 * schemes.define({ name: 'github', header: 'X-Hub-Signature-256', algorithm: 'sha256', key: 'utf8',
 *   encoding: 'hex', grammar: { prefix: 'sha256=' }, signed: '{body}' })
 */
function define(definition: SchemeDefinition): Scheme {
  checkFields(definition)
  if (definition.bodyJws) return schemes.bodyJws(definition.bodyJws)
  if (isUnsigned(definition)) return unsignedAgain(definition)
  const headers = signatureHeaders(definition)
  const template = parseTemplate(definition)
  const timestamp = checkedTimestamp(definition.timestamp)
  const grammar = checkedGrammar(definition)
  const id = definition.id && { header: headerName('id.header', definition.id.header) }
  checkSources(definition, template)
  checkUrlForm(definition)
  const timed = template.some((part) => 'value' in part && part.value === 'timestamp')
  const isJwt = typeof grammar === 'object' && 'jwt' in grammar
  const tolerance = timed || isJwt ? checkedTolerance(definition.tolerance) : 'none'
  const signed = template.flatMap((part) => ('header' in part ? [part.header] : []))
  checkDistinct([headers, timestamp?.header ?? [], id?.header ?? [], signed].flat())
  const { name, algorithm, key, encoding, url } = definition
  const scheme: Scheme = ready(
    defined({
      ...{ name, header: headers[0] as string, algorithm, key, encoding, grammar },
      headers: headers.length > 1 ? headers : undefined,
      ...{ signed: definition.signed, timestamp, url, id, tolerance, template },
      authenticity: definition.authenticity ?? ('signature' as const),
      jws: isJwt ? new CompactJws() : undefined,
    }),
  )
  checkNeighbours(scheme)
  if (!readsItsOwn(scheme)) {
    throw refuse('cannot read the header that a sender of it writes: check grammar and encoding')
  }
  return scheme
}

/** The options of the builders: the header's name and, where a time is signed, the tolerance. */
export interface SchemeOptions {
  readonly header?: string
  /** Seconds to either side, or 'none'; default 300. */
  readonly tolerance?: number | 'none'
}

/** Schemes as data: the service's own, two widespread ones, and any other by `define`. */
export const schemes = {
  /**
   * The service's scheme in its plain reading (section 6, rule 1): HMAC-SHA256 over the body, in
   * hex, base64 or base64url, with or without `sha256=`, several separated by commas or spaces.
   */
  service: (options: Pick<SchemeOptions, 'header'> = {}): Scheme => {
    checkOptionNames('schemes.service', options, ['header'], 'SCHEME_INVALID')
    const { header } = options
    return header === undefined ? serviceScheme : define({ ...serviceScheme, header })
  },
  /** `t=…,v1=…` in one header; signed is `t.body`, in hex. */
  timestamped: (options: SchemeOptions = {}): Scheme => {
    checkOptionNames('schemes.timestamped', options, ['header', 'tolerance'], 'SCHEME_INVALID')
    return define({
      name: 'timestamped',
      header: options.header ?? 'X-Service-Signature',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: { pairs: { signature: 'v1', timestamp: 't' } },
      signed: '{timestamp}.{body}',
      tolerance: options.tolerance ?? defaultTolerance,
    })
  },
  /** The Standard Webhooks scheme; `header` names the common prefix, `webhook` by default. */
  standardWebhooks: (options: SchemeOptions = {}): Scheme => {
    checkOptionNames('schemes.standardWebhooks', options, ['header', 'tolerance'], 'SCHEME_INVALID')
    const prefix = (options.header ?? 'webhook').replace(/-signature$/i, '')
    return define({
      name: 'standard-webhooks',
      header: `${prefix}-signature`,
      algorithm: 'sha256',
      key: 'whsec',
      encoding: 'base64',
      grammar: { list: { prefix: 'v1,' } },
      signed: '{id}.{timestamp}.{body}',
      timestamp: { header: `${prefix}-timestamp` },
      id: { header: `${prefix}-id` },
      tolerance: options.tolerance ?? defaultTolerance,
    })
  },
  /**
   * A shared token that every delivery carries. It proves the sender only as long as it stays
   * secret, and says nothing about the bytes: a receiver accepts it only with `authenticity:
   * 'token'`.
   *
   * @example schemes.token({ header: 'Authorization', prefix: 'Bearer ' })
   */
  token: (options: {
    readonly header: SchemeDefinition['header']
    readonly prefix?: string
  }): Scheme => {
    checkOptionNames('schemes.token', options, ['header', 'prefix'], 'SCHEME_INVALID')
    const { prefix } = options
    if (prefix !== undefined && (typeof prefix !== 'string' || prefix.trim() === '')) {
      throw refuse(`prefix must be text, got ${shown(prefix)}`)
    }
    return ready({
      ...unsigned('token', headerName('header', options.header)),
      grammar: prefix === undefined ? ('plain' as const) : { prefix },
    })
  },
  /**
   * A sender that is known by its addresses alone. `proxies` is how many proxies of yours append to
   * X-Forwarded-For; a receiver takes it only with `authenticity: 'ip'`.
   *
   * @example schemes.ip({ allow: ['203.0.113.0/24'], proxies: 1 })
   */
  ip: (options: { readonly allow: readonly string[]; readonly proxies: number }): Scheme => {
    checkOptionNames('schemes.ip', options, ['allow', 'proxies'], 'SCHEME_INVALID')
    return ready({
      ...unsigned('ip', 'X-Forwarded-For'),
      addresses: checkedAddresses(options),
    })
  },
  /**
   * The body is a compact JWS, its payload the event and `jti` its id. Pass the keys as `secret`: text
   * for HS256, else `publicKey(…)` or `jwks(…)` of `idv-webhooks/keys`.
   *
   * @example createReceiver({ scheme: schemes.bodyJws({ algorithms: ['rs256'] }), secret: jwks(…) })
   */
  bodyJws: (rule: BodyJwsRule): Scheme => {
    checkBodyJws(rule)
    const algorithm = schemeAlgorithm(rule.algorithms[0] as JwsAlgorithm)
    return ready({
      ...{ name: 'body-jws', header: '', algorithm, encoding: 'base64url', grammar: 'plain' },
      ...{ key: isPublicKey(algorithm) ? 'pem' : 'utf8', signed: '{body}', template: [] },
      ...{ tolerance: 'none', authenticity: 'signature', bodyJws: new CompactBody(rule) },
    } as const)
  },
  define,
}

/** Adds the reader beside the data, so that the scheme stays data. */
function ready(scheme: Omit<Scheme, 'format'>): Scheme {
  return Object.freeze(Object.defineProperty(scheme, 'format', { value: definedClaims }))
}

/** Restores a definition that came back from JSON, as a capture holds it. */
function unsignedAgain(definition: SchemeDefinition): Scheme {
  const { algorithm, header, grammar, addresses } = definition as SchemeDefinition & Partial<Scheme>
  if (algorithm === 'ip') return schemes.ip(addresses ?? { allow: [], proxies: 0 })
  const prefix = typeof grammar === 'object' && 'prefix' in grammar ? grammar.prefix : undefined
  return schemes.token(defined({ header, prefix }))
}

function isUnsigned({ algorithm }: SchemeDefinition): boolean {
  return algorithm === 'token' || algorithm === 'ip'
}

function unsigned(level: 'token' | 'ip', header: string): Scheme {
  return {
    ...({ name: level, header, algorithm: level, key: 'utf8', encoding: 'any' } as const),
    ...({ grammar: 'plain', signed: '', template: [], tolerance: 'none' } as const),
    authenticity: level,
  }
}

function checkedAddresses({ allow, proxies }: AddressRule): AddressList {
  if (!Array.isArray(allow) || allow.length === 0) {
    throw refuse(`allow must be a list of CIDR ranges, got ${shown(allow)}`)
  }
  const wrong = allow.find((one: unknown) => typeof one !== 'string' || !parseRange(one))
  if (wrong !== undefined) {
    throw refuse(`allow must hold CIDR ranges such as '203.0.113.0/24', got ${shown(wrong)}`)
  }
  checkWholeNumber('proxies', proxies, { least: 0, most: 16 })
  return new AddressList({ allow, proxies })
}
