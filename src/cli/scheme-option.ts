// The scheme of a command: the option, else the config file, else the capture's, else the default.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { suggestion } from '../foundation/check.ts'
import { type Scheme, type SchemeDefinition, schemes } from '../index.ts'
import { CliError } from './exit-code.ts'
import { schemeOfPreset } from './presets.ts'
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

/** The chosen scheme; undefined if none was chosen. */
export function chosenScheme({ cwd, config }: Session, options: SchemeChoice): Scheme | undefined {
  if (options.scheme !== undefined) return byName(cwd, options.scheme)
  const given = config.values.scheme
  if (given === undefined) return undefined
  return typeof given === 'string' ? byName(cwd, given) : schemes.define(given as SchemeDefinition)
}

function byName(cwd: string, name: string): Scheme {
  if (Object.hasOwn(namedSchemes, name)) return namedSchemes[name as keyof typeof namedSchemes]()
  const preset = schemeOfPreset(name)
  if (preset) return preset
  let json: unknown
  try {
    json = JSON.parse(readFileSync(resolve(cwd, name), 'utf8').replace(/^\uFEFF/, ''))
  } catch {
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
