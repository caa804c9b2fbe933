// Checks of a scheme's definition before it is used: known fields, header names, a template that can
// be read in one way only, a grammar whose separators leave names and prefixes whole.

import type { WebhookError } from '../errors.ts'
import { checkChoice, checkOptionNames, invalid, shown } from '../foundation/check.ts'
import type {
  BodyJwsRule,
  Grammar,
  JwtGrammar,
  PairsGrammar,
  Scheme,
  SchemeDefinition,
  TemplatePart,
  TemplateValue,
  TimestampFormat,
} from './scheme-definition.ts'

/** Seconds, from the Standard Webhooks recommendation. */
export const defaultTolerance = 300

const fields: readonly (keyof Scheme)[] = [
  ...(['name', 'header', 'algorithm', 'key', 'encoding', 'grammar', 'signed'] as const),
  ...(['timestamp', 'url', 'id', 'tolerance', 'authenticity'] as const),
  // Added to a checked scheme; derived again when another is defined from it.
  ...(['headers', 'template', 'addresses', 'jws', 'bodyJws'] as const),
]

const hmacs = ['sha256', 'sha512', 'sha1']
const publicKeys = ['ed25519', 'es256', 'rs256']
const keyForms = {
  hmac: ['utf8', 'base64', 'hex', 'whsec'],
  public: ['pem', 'base64', 'hex', 'whpk'],
}
const encodings = ['hex', 'base64', 'base64url']
const formats: readonly TimestampFormat[] = ['seconds', 'milliseconds', 'iso8601']
const values: readonly string[] = ['body', 'timestamp', 'id', 'url', 'method']

/** A sender with more keys than this would only cost us work. */
const mostHeaders = 8

export function refuse(why: string): WebhookError {
  return invalid(`scheme ${why}`, 'SCHEME_INVALID')
}

/** @throws WebhookError `SCHEME_INVALID` for a field that is unknown, missing or of another type */
export function checkFields(definition: SchemeDefinition): void {
  checkOptionNames('schemes.define', definition, fields, 'SCHEME_INVALID')
  const { name, algorithm } = definition
  if (typeof name !== 'string' || name === '') throw refuse(`name must be text, got ${shown(name)}`)
  oneOf('algorithm', algorithm, [...hmacs, ...publicKeys, 'token', 'ip'])
  if (algorithm === 'token' || algorithm === 'ip') return
  oneOf('authenticity', definition.authenticity ?? 'signature', ['signature', 'timestamp'])
  const isPublic = publicKeys.includes(algorithm)
  oneOf('key', definition.key, isPublic ? keyForms.public : keyForms.hmac)
  oneOf('encoding', definition.encoding, isPublic ? encodings : [...encodings, 'any'])
}

function oneOf(field: string, value: unknown, allowed: readonly string[]): void {
  if (value === undefined) throw refuse(`needs ${field}: ${allowed.join(', ')}`)
  checkChoice(`scheme ${field}`, value, allowed, 'SCHEME_INVALID')
}

/** The header names of signatures: one, a list, or `{n}` counted from 1. */
export function signatureHeaders(definition: SchemeDefinition): readonly string[] {
  const { headers } = definition as Partial<Scheme>
  const given = headers ?? definition.header
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  const names = list.flatMap((one) =>
    typeof one === 'string' && one.includes('{n}')
      ? Array.from({ length: mostHeaders }, (_, at) => one.replace('{n}', String(at + 1)))
      : [one],
  )
  if (names.length === 0) throw refuse('header must name at least one header')
  if (names.length > mostHeaders) throw refuse(`header names more than ${mostHeaders} headers`)
  return names.map((name) => headerName('header', name))
}

export function headerName(field: string, name: unknown): string {
  if (typeof name === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return name
  throw refuse(`${field} must be a header name, got ${shown(name)}`)
}

/** @throws WebhookError `SCHEME_INVALID` where one header would have to be two things */
export function checkDistinct(names: readonly string[]): void {
  const seen = new Set<string>()
  for (const name of names.map((one) => one.toLowerCase())) {
    if (seen.has(name)) throw refuse(`reads the header ${name} twice: name each header once`)
    seen.add(name)
  }
}

export function parseTemplate({ signed, authenticity }: SchemeDefinition): readonly TemplatePart[] {
  if (typeof signed !== 'string') {
    throw refuse(`signed must be a template such as '{timestamp}.{body}', got ${shown(signed)}`)
  }
  const pieces = signed.split(/(\{[^{}]*\})/).filter((piece) => piece !== '')
  const template = pieces.map(templatePart)
  const bodies = template.filter((part) => 'value' in part && part.value === 'body').length
  const isTimeAlone = authenticity === 'timestamp'
  if (isTimeAlone && (bodies > 0 || template.length < 2 || !signed.includes('{timestamp}'))) {
    throw refuse("with authenticity: 'timestamp' signs a {timestamp} with other text and no {body}")
  }
  if (bodies === 0 && !isTimeAlone) {
    throw refuse('signed must contain {body}, or the bytes are not proved')
  }
  return template
}

function templatePart(piece: string): TemplatePart {
  if (!piece.startsWith('{') || !piece.endsWith('}')) return { text: piece }
  const value = piece.slice(1, -1)
  if (value.startsWith('header:')) return { header: headerName('signed', value.slice(7)) }
  if (values.includes(value)) return { value: value as TemplateValue }
  throw refuse(
    `signed contains ${piece}, which is unknown: use {${values.join('}, {')}} or {header:x-name}`,
  )
}

/**
 * Values side by side whose forms tell where one ends: a method is capital letters, an address
 * begins with its protocol, a body is a JSON object, a time is digits.
 */
const separable: readonly string[] = [
  'method url',
  'method body',
  'url body',
  'body url',
  'timestamp body',
  'timestamp url',
  'body timestamp',
]

/** One signature must not stand for two readings of the same bytes. */
export function checkNeighbours({ template, timestamp, tolerance }: Scheme): void {
  for (const [at, one] of template.entries()) {
    const next = template[at + 1]
    if (next === undefined || 'text' in one || 'text' in next) continue
    const [left, right] = [placeOf(one), placeOf(next)]
    if (separable.includes(`${left} ${right}`) || (left === 'header' && right === 'body')) continue
    const isTimed = left === 'timestamp' || right === 'timestamp'
    if (isTimed && timestamp?.format === 'iso8601') continue
    // A digit more or less moves the time by years, far outside any tolerance.
    if (left === 'timestamp' && right === 'header' && tolerance !== 'none') continue
    throw refuse(
      `signs {${left}}{${right}} with nothing between them, so one signature could be read in two ways: put the text that the sender puts there`,
    )
  }
}

const placeOf = (part: Exclude<TemplatePart, { readonly text: string }>) =>
  'value' in part ? part.value : 'header'

/** A decoded %25 would make an escape of the text behind it. */
const escapes = /^%(?!25)[2-7][0-9A-F]( %(?!25)[2-7][0-9A-F])*$/

/** @throws WebhookError `SCHEME_INVALID` for a form of the address that could not be read */
export function checkUrlForm({ url: form, signed }: SchemeDefinition): void {
  if (form === undefined) return
  checkOptionNames('url', form, ['decoded'], 'SCHEME_INVALID')
  if (!Array.isArray(form.decoded) || !escapes.test(form.decoded.join(' '))) {
    throw refuse(`url.decoded must be a list of escapes such as '%3A', got ${shown(form.decoded)}`)
  }
  if (!signed.includes('{url}')) throw refuse('has a form of {url}, but does not sign {url}')
}

/** Every value that is read must be signed, and every signed value must have a source. */
export function checkSources(
  { grammar, timestamp, id }: SchemeDefinition,
  template: readonly TemplatePart[],
): void {
  const signs = (value: TemplateValue) =>
    template.some((part) => 'value' in part && part.value === value)
  const isJwt = typeof grammar === 'object' && 'jwt' in grammar
  const isPaired = typeof grammar === 'object' && 'pairs' in grammar && grammar.pairs.timestamp
  const own = isJwt || Boolean(isPaired)
  if (own && timestamp?.header !== undefined) {
    throw refuse('states the time twice: leave out timestamp.header')
  }
  checkSource('timestamp', isJwt || signs('timestamp'), own || timestamp?.header !== undefined)
  checkSource('id', signs('id'), id !== undefined)
}

function checkSource(what: string, isSigned: boolean, isGiven: boolean): void {
  if (isSigned === isGiven) return
  throw refuse(
    isSigned
      ? `signs {${what}} without saying which header carries it: add ${what}: { header }`
      : `reads a ${what} that is not signed, so anyone could change it: leave it out`,
  )
}

export function checkedTolerance(tolerance: unknown = defaultTolerance): number | 'none' {
  if (tolerance === 'none') return tolerance
  if (typeof tolerance === 'number' && Number.isFinite(tolerance) && tolerance > 0) return tolerance
  throw refuse(
    `tolerance must be seconds above 0, or 'none' to switch the check off, got ${shown(tolerance)}`,
  )
}

/** Where the time stands, and how it is written. */
export function checkedTimestamp(
  timestamp: SchemeDefinition['timestamp'],
): SchemeDefinition['timestamp'] {
  if (timestamp === undefined) return undefined
  checkOptionNames('timestamp', timestamp, ['header', 'format'], 'SCHEME_INVALID')
  if (timestamp.format !== undefined) oneOf('timestamp.format', timestamp.format, formats)
  if (timestamp.header !== undefined) headerName('timestamp.header', timestamp.header)
  return timestamp
}

const forms = ['prefix', 'pairs', 'list', 'jwt'] as const

/** @throws WebhookError `SCHEME_INVALID` for a grammar that is unknown, mixed or unreadable */
export function checkedGrammar(definition: SchemeDefinition): Grammar {
  const { grammar } = definition
  if (grammar === 'plain') return grammar
  const given: object = typeof grammar === 'object' && grammar !== null ? grammar : {}
  const found = forms.filter((form) => form in given)
  if (found.length !== 1) {
    const got = found.length > 1 ? `a mix of ${found.join(' and ')}` : shown(grammar)
    throw refuse(`grammar must be 'plain', { prefix }, { pairs }, { list } or { jwt }, got ${got}`)
  }
  const known = 'prefix' in given ? ['prefix', 'optional'] : found
  checkOptionNames('grammar', given, known, 'SCHEME_INVALID')
  if ('prefix' in given) checkPrefix(given)
  else if ('pairs' in given) checkPairs(given.pairs)
  else if ('list' in given) checkList(given.list)
  else checkJwt((given as { jwt: unknown }).jwt, definition)
  return grammar
}

/** A comma separates signatures, and white space at the begin would be trimmed. */
const plainPrefix = /^[\x21-\x2b\x2d-\x7e][\x20-\x2b\x2d-\x7e]*$/

function checkPrefix({ prefix, optional }: { prefix?: unknown; optional?: unknown }): void {
  if (typeof prefix !== 'string' || !plainPrefix.test(prefix)) {
    throw refuse(
      `grammar.prefix must be printable ASCII without a comma (for that use { list: { prefix } }), got ${shown(prefix)}`,
    )
  }
  checkChoice('scheme grammar.optional', optional, [true, false], 'SCHEME_INVALID')
  if (optional === true && prefix.includes(' ')) {
    throw refuse('grammar.optional does not go with a prefix that has a space')
  }
}

function checkList(list: unknown): void {
  checkOptionNames('grammar.list', list, ['prefix'], 'SCHEME_INVALID')
  const { prefix } = list as { prefix?: unknown }
  if (typeof prefix === 'string' && /^[\x21-\x7e]+$/.test(prefix)) return
  throw refuse(
    `grammar.list.prefix must be printable text without a space, which separates signatures, got ${shown(prefix)}`,
  )
}

function checkPairs(pairs: unknown): void {
  const names = ['signature', 'timestamp', 'separator']
  checkOptionNames('grammar.pairs', pairs, names, 'SCHEME_INVALID')
  const { signature, timestamp, separator = ',' } = pairs as PairsGrammar
  if (separator !== ',' && separator !== ';') {
    throw refuse(`grammar.pairs.separator must be ',' or ';', got ${shown(separator)}`)
  }
  pairName('signature', signature)
  if (timestamp === undefined) return
  pairName('timestamp', timestamp)
  if (timestamp === signature) throw refuse('grammar.pairs gives both the same name')
}

function pairName(field: string, name: unknown): void {
  if (typeof name === 'string' && /^[\w.-]+$/.test(name)) return
  throw refuse(
    `grammar.pairs.${field} must be a name of letters, digits, '_', '.' and '-', got ${shown(name)}`,
  )
}

function checkJwt(jwt: unknown, { algorithm, signed, encoding }: SchemeDefinition): void {
  checkOptionNames('grammar.jwt', jwt, ['bodyHash'], 'SCHEME_INVALID')
  const { bodyHash } = jwt as Partial<JwtGrammar>
  if (typeof bodyHash !== 'string' || bodyHash === '') {
    throw refuse(`grammar.jwt.bodyHash must name the claim of the hash, got ${shown(bodyHash)}`)
  }
  if (publicKeys.includes(algorithm) && signed === '{body}' && encoding === 'base64url') return
  throw refuse("with a JWT needs a public key, signed: '{body}' and encoding: 'base64url'")
}

/** @throws WebhookError `SCHEME_INVALID` for a rule under which a public key could be a secret */
export function checkBodyJws(rule: BodyJwsRule): void {
  const names = ['algorithms', 'type', 'issuer', 'audience', 'tolerance']
  checkOptionNames('schemes.bodyJws', rule, names, 'SCHEME_INVALID')
  const { algorithms, tolerance, ...texts } = rule
  const isPublic = Array.isArray(algorithms) && algorithms.every((one) => publicKeys.includes(one))
  if (String(algorithms) !== 'hs256' && !(isPublic && algorithms.length > 0)) {
    const needs = `['hs256'] with a shared secret, or a list of ${publicKeys.join(', ')}`
    throw refuse(`bodyJws.algorithms must be ${needs}, got ${shown(algorithms)}`)
  }
  for (const [name, value] of Object.entries(texts)) {
    if (typeof (value ?? 'none') !== 'string') throw refuse(`bodyJws.${name} must be text`)
  }
  checkedTolerance(tolerance)
}
