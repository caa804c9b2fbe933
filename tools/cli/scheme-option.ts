// The scheme of a command: the option, else the config file, else the capture's, else the default.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { suggestion } from '../../src/foundation/check.ts'
import { type Scheme, type SchemeDefinition, schemes } from '../../src/index.ts'
import type { Vendor } from '../../src/vendors/index.ts'
import { CliError } from './exit-code.ts'
import { presetFault, presetOf } from './presets.ts'
import type { Session } from './session.ts'

/** The options of commands that sign or verify. */
export interface SchemeChoice {
  readonly scheme?: string
}

/** Schemes that have a name of their own. */
export const namedSchemes = {
  service: () => schemes.service(),
  timestamped: () => schemes.timestamped(),
  'standard-webhooks': () => schemes.standardWebhooks(),
} as const

/** It takes files too, so its names are suggestions and not choices. */
export class SchemeOption extends Option {
  readonly suggestions = Object.keys(namedSchemes)
}

export const schemeOption = () =>
  new SchemeOption(
    '--scheme <name>',
    `${Object.keys(namedSchemes).join(', ')}, a preset (vendors.onfido, senders.slack), or a JSON file with a definition (see discover --json)`,
  )

/** How the sender signs, and in whose shape its events are where a vendor's preset was chosen. */
export interface ChosenSender {
  readonly scheme: Scheme
  readonly vendor?: Vendor
}

/** The chosen scheme; undefined if none was chosen. */
export function chosenScheme(session: Session, options: SchemeChoice): Scheme | undefined {
  return configured(session, options)?.scheme
}

/** The chosen scheme with its vendor; the service's by default. */
export function chosenSender(session: Session, options: SchemeChoice): ChosenSender {
  return configured(session, options) ?? { scheme: schemes.service() }
}

function configured({ cwd, config }: Session, options: SchemeChoice): ChosenSender | undefined {
  const given = options.scheme ?? config.values.scheme
  if (given === undefined) return undefined
  if (typeof given !== 'string') return { scheme: schemes.define(given as SchemeDefinition) }
  if (Object.hasOwn(namedSchemes, given)) {
    return { scheme: namedSchemes[given as keyof typeof namedSchemes]() }
  }
  return presetOf(given) ?? { scheme: fromFile(cwd, given) }
}

function fromFile(cwd: string, name: string): Scheme {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(resolve(cwd, name), 'utf8').replace(/^\uFEFF/, ''))
  } catch {
    const fault = /^(vendors|senders)\.\w+(\(\))?$/.test(name) ? presetFault(name) : undefined
    if (fault) throw new CliError('SCHEME_INVALID', fault)
    // Its value is not repeated: in a config file it may be a secret in the wrong place.
    const names = Object.keys(namedSchemes)
    throw new CliError(
      'SCHEME_INVALID',
      `the scheme must be ${names.join(', ')}, a preset such as vendors.onfido, or the path of a JSON file.${suggestion(name, names)}`,
    )
  }
  // A line of discover --json, a capture, or a bare definition.
  const inner = (json as { scheme?: unknown } | null)?.scheme
  return schemes.define((inner ?? json) as SchemeDefinition)
}
