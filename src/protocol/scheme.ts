// How a sender signs, as data: header, algorithm, encoding, what is signed. Nothing here runs.
import { WebhookError } from '../errors.ts'

/** How signatures stand in the header's value. */
export type Grammar =
  /** One or more signatures, separated by commas or spaces. */
  | 'plain'
  /** The same, each after a prefix such as `sha256=`. */
  | { readonly prefix: string; readonly optional?: boolean }
  /** `t=…,v1=…`: comma-separated pairs; several groups, and several signatures in one, allowed. */
  | { readonly pairs: { readonly signature: string; readonly timestamp?: string } }
  /** Space-separated, those with the prefix counting: `v1,… v1,…`. */
  | { readonly list: { readonly prefix: string } }

/** What `schemes.define` takes. */
export interface SchemeDefinition {
  readonly name: string
  /** The header that carries the signature; case does not matter. */
  readonly header: string
  readonly algorithm: 'sha256' | 'sha512' | 'sha1'
  /** How the secret's text becomes the key: its UTF-8 bytes, or what it decodes to. */
  readonly key: 'utf8' | 'base64' | 'hex' | 'whsec'
  readonly encoding: 'hex' | 'base64' | 'base64url' | 'any'
  readonly grammar: Grammar
  /** A template over `{body}`, `{timestamp}`, `{id}` and `{url}`, e.g. `'{timestamp}.{body}'`. */
  readonly signed: string
  /** The header of the timestamp, where it is not a pair of the signature's own header. */
  readonly timestamp?: { readonly header: string }
  /** The header of the delivery's id. */
  readonly id?: { readonly header: string }
  /** Seconds that a signed time may differ from ours, to either side; default 300. */
  readonly tolerance?: number | 'none'
}

/** A scheme that was checked; made by the builders of `schemes`. */
export interface Scheme extends SchemeDefinition {
  /** The template in pieces: fixed text, or the name of what stands there. */
  readonly template: readonly TemplatePart[]
  /** Seconds; 'none' where no time is signed or the check is switched off. */
  readonly tolerance: number | 'none'
}

export type TemplatePart = { readonly text: string } | { readonly value: TemplateValue }
export type TemplateValue = 'body' | 'timestamp' | 'id' | 'url'

/** Seconds, from the Standard Webhooks recommendation. */
const defaultTolerance = 300
const templateValues: readonly string[] = ['body', 'timestamp', 'id', 'url']
const choices = {
  algorithm: ['sha256', 'sha512', 'sha1'],
  key: ['utf8', 'base64', 'hex', 'whsec'],
  encoding: ['hex', 'base64', 'base64url', 'any'],
} as const

/**
 * Any scheme, as data.
 *
 * @throws WebhookError `SCHEME_INVALID`, saying which part and how to mend it.
 * @example
 * schemes.define({ name: 'github', header: 'X-Hub-Signature-256', algorithm: 'sha256', key: 'utf8',
 *   encoding: 'hex', grammar: { prefix: 'sha256=' }, signed: '{body}' })
 */
function define(definition: SchemeDefinition): Scheme {
  for (const [field, allowed] of Object.entries(choices)) {
    const value = definition[field as keyof typeof choices]
    if (!(allowed as readonly string[]).includes(value)) {
      throw refuse(`${field} is ${String(value)}: use one of ${allowed.join(', ')}`)
    }
  }
  const template = parseTemplate(definition.signed)
  const values = template.flatMap((part) => ('value' in part ? [part.value] : []))
  checkSources(definition, values)
  const signsTime = values.includes('timestamp')
  return Object.freeze({
    ...definition,
    header: headerName('header', definition.header),
    ...(definition.timestamp && {
      timestamp: { header: headerName('timestamp.header', definition.timestamp.header) },
    }),
    ...(definition.id && { id: { header: headerName('id.header', definition.id.header) } }),
    grammar: checkedGrammar(definition.grammar),
    template,
    tolerance: signsTime ? checkedTolerance(definition.tolerance) : 'none',
  })
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
  service: (options: Pick<SchemeOptions, 'header'> = {}): Scheme =>
    define({
      name: 'service',
      header: options.header ?? 'X-Service-Signature',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'any',
      grammar: { prefix: 'sha256=', optional: true },
      signed: '{body}',
    }),
  /** `t=…,v1=…` in one header; signed is `t.body`, in hex. */
  timestamped: (options: SchemeOptions = {}): Scheme =>
    define({
      name: 'timestamped',
      header: options.header ?? 'X-Service-Signature',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: { pairs: { signature: 'v1', timestamp: 't' } },
      signed: '{timestamp}.{body}',
      tolerance: options.tolerance ?? defaultTolerance,
    }),
  /** The Standard Webhooks scheme; `header` names the common prefix, `webhook` by default. */
  standardWebhooks: (options: SchemeOptions = {}): Scheme => {
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
  define,
}

function refuse(why: string): WebhookError {
  return new WebhookError('SCHEME_INVALID', `scheme ${why}`)
}

function parseTemplate(signed: string): TemplatePart[] {
  if (typeof signed !== 'string') throw refuse("signed is no template: give e.g. '{body}'")
  const parts = signed.split(/(\{[^{}]*\})/).filter((piece) => piece !== '')
  const template = parts.map((piece): TemplatePart => {
    if (!piece.startsWith('{') || !piece.endsWith('}')) return { text: piece }
    const value = piece.slice(1, -1)
    if (!templateValues.includes(value)) {
      throw refuse(`signed has ${piece}: use {${templateValues.join('}, {')}}`)
    }
    return { value: value as TemplateValue }
  })
  if (!template.some((part) => 'value' in part && part.value === 'body')) {
    throw refuse('signed leaves out {body}: then nobody proves the bytes')
  }
  return template
}

function checkSources(definition: SchemeDefinition, values: readonly TemplateValue[]): void {
  const { grammar } = definition
  const paired = typeof grammar === 'object' && 'pairs' in grammar && grammar.pairs?.timestamp
  const timed = Boolean(definition.timestamp || paired)
  const pairs: [boolean, boolean, string][] = [
    [values.includes('timestamp'), timed, 'timestamp'],
    [values.includes('id'), Boolean(definition.id), 'id'],
  ]
  for (const [signed, given, what] of pairs) {
    if (signed && !given) throw refuse(`signs {${what}}: say where it stands (${what}: { header })`)
    if (!signed && given) {
      throw refuse(`reads a ${what} that is not signed, so anyone could change it: leave it out`)
    }
  }
}

function checkedTolerance(tolerance: number | 'none' = defaultTolerance): number | 'none' {
  if (tolerance === 'none') return tolerance
  if (typeof tolerance === 'number' && Number.isFinite(tolerance) && tolerance > 0) return tolerance
  throw refuse(
    `tolerance is ${String(tolerance)}: give seconds above 0, or 'none' to switch it off`,
  )
}

function headerName(field: string, name: string): string {
  if (typeof name === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return name
  throw refuse(`${field} is no header name`)
}

function checkedGrammar(grammar: Grammar): Grammar {
  if (grammar === 'plain') return grammar
  if (typeof grammar === 'object' && grammar !== null) {
    if ('prefix' in grammar && grammar.prefix) return grammar
    if ('pairs' in grammar && grammar.pairs?.signature) return grammar
    if ('list' in grammar && typeof grammar.list?.prefix === 'string') return grammar
  }
  throw refuse("grammar is unknown: use 'plain', { prefix }, { pairs } or { list }")
}
