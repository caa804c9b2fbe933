// Chooses how the deliveries of a command are signed: the chosen scheme, or a capture's scheme.
import { readFileSync } from 'node:fs'
import { validateHeaderName, validateHeaderValue } from 'node:http'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { suggestion } from '../../src/foundation/check.ts'
import { type Scheme, type SchemeDefinition, schemes } from '../../src/index.ts'
import { senders, type Vendor, vendors } from '../../src/vendors/index.ts'
import type { NamedCapture } from './capture-files.ts'
import type { RawHeaders } from './deliver.ts'
import { CliError, usageError } from './exit-code.ts'
import { repeated } from './option-values.ts'
import type { Session } from './session.ts'

export interface SchemeChoice {
  readonly scheme?: string
}

const namedSchemes: Readonly<Record<string, () => Scheme>> = {
  service: () => schemes.service(),
  timestamped: () => schemes.timestamped(),
  'standard-webhooks': () => schemes.standardWebhooks(),
}
const names = Object.keys(namedSchemes)

export const schemeOption = () =>
  new Option(
    '--scheme <name>',
    `${names.join(', ')}, a preset (vendors.onfido, senders.slack), or a JSON file with a definition (see discover --json)`,
  )

export function chosenSender({ cwd, config }: Session, options: SchemeChoice): Partial<Preset> {
  const given = options.scheme ?? config.values.scheme
  if (given === undefined) return {}
  if (typeof given !== 'string') return { scheme: schemes.define(given as SchemeDefinition) }
  const make = Object.hasOwn(namedSchemes, given) ? namedSchemes[given] : undefined
  return make ? { scheme: make() } : (presetOf(given) ?? { scheme: fromFile(cwd, given) })
}

function fromFile(cwd: string, name: string): Scheme {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(resolve(cwd, name), 'utf8').replace(/^\uFEFF/, ''))
  } catch {
    throw new CliError('SCHEME_INVALID', schemeFault(name))
  }
  // A line of discover --json, a capture, or a bare definition.
  const inner = (json as { scheme?: unknown } | null)?.scheme
  return schemes.define((inner ?? json) as SchemeDefinition)
}

/** Only a name that is like a preset is repeated: in a config file it may be a misplaced secret. */
function schemeFault(name: string): string {
  if (/^vendors\.(jumio|smileId)(\(\))?$/.test(name)) {
    return `${name} does not sign the body, so its deliveries can be neither made nor verified here: test its receiver with your own tests (docs/testing.md)`
  }
  const close = suggestion(name, [
    ...names,
    ...presets().map((one) => one.name.replace(/\(.*/, '')),
  ])
  if (/^(vendors|senders)\.\w+(\(\))?$/.test(name) && close)
    return `${name} is not a preset.${close}`
  return `the scheme must be ${names.join(', ')}, a preset such as vendors.onfido, or the path of a JSON file.${close}`
}

export interface Preset {
  /** `vendors.onfido()`, `senders.slack()`. */
  readonly name: string
  readonly scheme: Scheme
  readonly vendor?: Vendor
}

// A capture does not prove the sender's address, nor a body that is not signed.
const { jumio: _, smileId: __, ...signing } = vendors

export function presets(): readonly Preset[] {
  const made = Object.entries(signing).map(([name, make]) => [`vendors.${name}()`, make()] as const)
  const sha512 = vendors.sumsub({ algorithm: 'sha512' })
  const all = [["vendors.sumsub({ algorithm: 'sha512' })", sha512] as const, ...made]
  return [
    ...all.map(([name, vendor]) => ({ name, scheme: vendor.scheme, vendor })),
    ...Object.entries(senders).map(([name, make]) => ({
      name: `senders.${name}()`,
      scheme: make(),
    })),
  ]
}

/** The preset `vendors.<name>` or `senders.<name>`; undefined for any other text. */
export function presetOf(text: string): Preset | undefined {
  return presets().find(({ name }) => name === text || name === `${text}()`)
}

/** The scheme that proves a capture: the chosen one, else the file's own. */
export function schemeOf({ scheme }: NamedCapture, chosen: Scheme | undefined): Scheme {
  return chosen ?? scheme ?? schemes.service()
}

export interface ExtraHeaders {
  readonly all: RawHeaders
  /** The headers that the scheme signs, in lower case. */
  readonly signed: Readonly<Record<string, string>>
}

export const headerOption = () =>
  new Option(
    '--header <name: value>',
    'add a header, signed if the scheme signs it; repeatable',
  ).argParser(repeated)

/** Reads `--header`; if the scheme signs a header that is missing, nothing is sent. */
export function extraHeaders(given: readonly string[] | undefined, scheme: Scheme): ExtraHeaders {
  const all = (given ?? []).map(headerOf)
  const [missing] = missingOf(scheme, all)
  if (missing !== undefined) {
    const option = `pass --header '${missing}: …', as your sender sends it`
    throw usageError(`scheme ${scheme.name} signs the header ${missing}: ${option}`)
  }
  const signed = signedNames(scheme)
  const pairs = all.map(([name, value]) => [name.toLowerCase(), value] as const)
  return { all, signed: Object.fromEntries(pairs.filter(([name]) => signed.includes(name))) }
}

function signedNames({ template }: Scheme): readonly string[] {
  return template.flatMap((part) => ('header' in part ? [part.header.toLowerCase()] : []))
}

export function missingOf(scheme: Scheme, headers: RawHeaders): readonly string[] {
  const given = headers.map(([name]) => name.toLowerCase())
  return signedNames(scheme).filter((name) => !given.includes(name))
}

function headerOf(text: string): readonly [string, string] {
  const at = text.indexOf(':')
  const [name, value] = [text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1).trim()]
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    throw usageError("--header must be 'name: value'")
  }
  return [name, value]
}
