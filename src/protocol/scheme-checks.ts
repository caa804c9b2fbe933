// Checks of a scheme's definition before it is used: known fields, header names, a template that can
// be read in one way only, a grammar whose separators leave names and prefixes whole.

import type { WebhookError } from '../errors.ts'
import { checkOptionNames, invalid, shown, suggestion } from '../foundation/check.ts'
import type {
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

const fields: readonly (keyof SchemeDefinition)[] = [
  'name',
  'header',
  'algorithm',
  'key',
  'encoding',
  'grammar',
  'signed',
  'timestamp',
  'url',
  'id',
  'tolerance',
  'authenticity',
]
/** Fields added to a checked scheme; derived again when another is defined from it. */
const derived: readonly (keyof Scheme)[] = ['headers', 'template', 'addresses']

const hmacs = ['sha256', 'sha512', 'sha1']
const hmacKeys = ['utf8', 'base64', 'hex', 'whsec']
const publicKeys = ['pem', 'base64', 'hex', 'whpk']
const encodings = ['hex', 'base64', 'base64url', 'any']
const formats: readonly TimestampFormat[] = ['seconds', 'milliseconds', 'iso8601']
const values: readonly string[] = ['body', 'timestamp', 'id', 'url', 'method']

/** A sender with more keys than this would only cost us work. */
const mostHeaders = 8

export function refuse(why: string): WebhookError {
  return invalid(`scheme ${why}`, 'SCHEME_INVALID')
}

/** @throws WebhookError `SCHEME_INVALID` for a field that is unknown, missing or of another type */
export function checkFields(definition: SchemeDefinition): void {
  checkOptionNames('schemes.define', definition, [...fields, ...derived], 'SCHEME_INVALID')
  const { name, algorithm } = definition
  if (typeof name !== 'string' || name === '') throw refuse(`name must be text, got ${shown(name)}`)
  oneOf('algorithm', algorithm, [...hmacs, 'ed25519', 'es256', 'rs256', 'token', 'ip'])
  if (algorithm === 'token' || algorithm === 'ip') return
  oneOf('authenticity', definition.authenticity ?? 'signature', ['signature', 'timestamp'])
  oneOf('key', definition.key, hmacs.includes(algorithm) ? hmacKeys : publicKeys)
  oneOf(
    'encoding',
    definition.encoding,
    hmacs.includes(algorithm) ? encodings : encodings.slice(0, 3),
  )
}

function oneOf(field: string, value: unknown, allowed: readonly string[]): void {
  if (allowed.includes(value as string)) return
  const hint = typeof value === 'string' ? suggestion(value, allowed) : ''
  throw refuse(`${field} must be one of ${allowed.join(', ')}, got ${shown(value)}.${hint}`)
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

const longestTemplate = 64
const mostBodies = 2

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
  // A capture brings its own scheme: it must not choose how long verifying it takes.
  if (bodies > mostBodies || template.length > longestTemplate) {
    throw refuse(
      `signed has at most ${longestTemplate} parts, and {body} ${mostBodies} times among them`,
    )
  }
  for (const [at, part] of template.entries()) checkNeighbours(part, template[at + 1])
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
function checkNeighbours(one: TemplatePart, next: TemplatePart | undefined): void {
  if (next === undefined || 'text' in one || 'text' in next) return
  const [left, right] = [placeOf(one), placeOf(next)]
  if (separable.includes(`${left} ${right}`) || (left === 'header' && right === 'body')) return
  // Decided with the format of the time: checkTimes.
  if (right === 'timestamp' || left === 'timestamp') return
  throw split(one, next)
}

function split(one: TemplatePart, next: TemplatePart): WebhookError {
  const names = [one, next].map((part) =>
    'header' in part ? `header:${part.header}` : placeOf(part),
  )
  return refuse(
    `signs {${names[0]}}{${names[1]}} with nothing between them, so one signature could be read in two ways: put the text that the sender puts there`,
  )
}

function placeOf(part: TemplatePart): string {
  if ('value' in part) return part.value
  return 'header' in part ? 'header' : 'text'
}

/** An ISO 8601 time has a form of its own; digits beside an id or a header have none. */
export function checkTimes(
  template: readonly TemplatePart[],
  format: TimestampFormat,
  tolerance: number | 'none',
): void {
  for (const [at, part] of template.entries()) {
    const next = template[at + 1]
    if (next === undefined || 'text' in part || 'text' in next) continue
    const [left, right] = [placeOf(part), placeOf(next)]
    if (left !== 'timestamp' && right !== 'timestamp') continue
    if (separable.includes(`${left} ${right}`) || format === 'iso8601') continue
    // A digit more or less moves the time by years, far outside any tolerance.
    if (left === 'timestamp' && right === 'header' && tolerance !== 'none') continue
    throw split(part, next)
  }
}

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
  definition: SchemeDefinition,
  template: readonly TemplatePart[],
): void {
  const { grammar, timestamp } = definition
  const own =
    typeof grammar === 'object' && ('jwt' in grammar || timeOfPairs(grammar) !== undefined)
  const signs = (value: TemplateValue) =>
    template.some((part) => 'value' in part && part.value === value)
  const isJwt = typeof grammar === 'object' && 'jwt' in grammar
  if (own && timestamp?.header !== undefined) {
    throw refuse('states the time twice: leave out timestamp.header')
  }
  const sources: [TemplateValue, boolean, boolean][] = [
    ['timestamp', isJwt || signs('timestamp'), own || timestamp?.header !== undefined],
    ['id', signs('id'), definition.id !== undefined],
  ]
  for (const [what, signed, given] of sources) {
    if (signed && !given)
      throw refuse(
        `signs {${what}} without saying which header carries it: add ${what}: { header }`,
      )
    if (!signed && given) {
      throw refuse(`reads a ${what} that is not signed, so anyone could change it: leave it out`)
    }
  }
}

function timeOfPairs(grammar: Exclude<Grammar, string>): string | undefined {
  return 'pairs' in grammar ? grammar.pairs?.timestamp : undefined
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
    throw refuse(
      `grammar must be 'plain', { prefix }, { pairs }, { list } or { jwt }, got ${mixed(grammar, found)}`,
    )
  }
  const known = 'prefix' in given ? ['prefix', 'optional'] : found
  checkOptionNames('grammar', given, known, 'SCHEME_INVALID')
  if ('prefix' in given) checkPrefix(given)
  else if ('pairs' in given) checkPairs(given.pairs)
  else if ('list' in given) checkList(given.list)
  else checkJwt((given as { jwt: unknown }).jwt, definition)
  return grammar
}

function mixed(grammar: unknown, found: readonly string[]): string {
  return found.length > 1 ? `a mix of ${found.join(' and ')}` : shown(grammar)
}

function checkPrefix({ prefix, optional }: { prefix?: unknown; optional?: unknown }): void {
  if (typeof prefix !== 'string' || prefix === '') {
    throw refuse(`grammar.prefix must be text, got ${shown(prefix)}`)
  }
  if (prefix.includes(',')) {
    throw refuse('grammar.prefix has a comma, which separates signatures: use { list: { prefix } }')
  }
  if (!isPlain(prefix)) {
    throw refuse('grammar.prefix must be printable ASCII, with a space only inside or at its end')
  }
  if (optional !== undefined && typeof optional !== 'boolean') {
    throw refuse(`grammar.optional must be true or false, got ${shown(optional)}`)
  }
  if (optional === true && prefix.includes(' ')) {
    throw refuse('grammar.optional does not go with a prefix that has a space')
  }
}

const isPlain = (text: string) => /^[\x21-\x7e](?:[\x20-\x7e]*)$/.test(text)

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
  if (timestamp === signature) throw refuse('grammar.pairs has the same name for both')
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
    throw refuse(
      `grammar.jwt.bodyHash must name the claim of the body's hash, got ${shown(bodyHash)}`,
    )
  }
  if (!['ed25519', 'es256', 'rs256'].includes(algorithm)) {
    throw refuse('with a JWT needs a public key: use ed25519, es256 or rs256')
  }
  if (signed !== '{body}')
    throw refuse("with a JWT signs the body by its hash: signed must be '{body}'")
  if (encoding !== 'base64url') throw refuse("with a JWT needs the encoding 'base64url'")
}
