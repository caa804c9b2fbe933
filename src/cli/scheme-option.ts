// Which scheme a command works with: the option, else the config file, else what a capture says,
// else the service's own.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Option } from 'commander'
import { type Scheme, type SchemeDefinition, schemes } from '../index.ts'
import { CliError } from './exit-code.ts'
import type { Session } from './session.ts'

/** The options of commands that sign or verify. */
export interface SchemeChoice {
  readonly scheme?: string
}

const ready = {
  service: () => schemes.service(),
  timestamped: () => schemes.timestamped(),
  'standard-webhooks': () => schemes.standardWebhooks(),
} as const

/** Takes more than it suggests, so the names are no choices. */
export class SchemeOption extends Option {
  readonly suggestions = Object.keys(ready)
}

export const schemeOption = () =>
  new SchemeOption(
    '--scheme <name>',
    `${Object.keys(ready).join(', ')}, or a JSON file with a definition (see discover --json)`,
  )

/** The chosen scheme; undefined where nobody chose. */
export function chosenScheme({ cwd, config }: Session, options: SchemeChoice): Scheme | undefined {
  if (options.scheme !== undefined) return byName(cwd, options.scheme)
  const given = config.values.scheme
  if (given === undefined) return undefined
  return typeof given === 'string' ? byName(cwd, given) : schemes.define(given as SchemeDefinition)
}

function byName(cwd: string, name: string): Scheme {
  if (Object.hasOwn(ready, name)) return ready[name as keyof typeof ready]()
  let json: unknown
  try {
    json = JSON.parse(readFileSync(resolve(cwd, name), 'utf8').replace(/^\uFEFF/, ''))
  } catch {
    throw new CliError(
      'SCHEME_INVALID',
      `--scheme ${name} is neither ${Object.keys(ready).join(', ')} nor a JSON file`,
    )
  }
  // A line of discover --json, a capture and a bare definition are all at hand.
  const inner = (json as { scheme?: unknown } | null)?.scheme
  return schemes.define((inner ?? json) as SchemeDefinition)
}
