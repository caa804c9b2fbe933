// Settings of options: flag > environment > config file. Unknown keys of the file are errors.
// Not commander's Option.env(): a file comes third, empty variables are unset, some hold lists.
import type { Command, Option } from 'commander'
import { suggestion } from '../../src/foundation/check.ts'
import { type Config, configError } from './config.ts'
import { CliError } from './exit-code.ts'
import { isRepeatable } from './repeated.ts'

/** Where the value of an option is looked up. */
export interface SettingSources {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
}

type Values = Readonly<Record<string, unknown>>

/** Keys that are not options of a command. */
const otherKeys = [
  ...['$schema', 'secret', 'scheme', 'envelope', 'client'],
  ...['inbox', 'store', 'encryption', 'retention'],
]

/** Keys that commands read from the file themselves. */
const readElsewhere = ['scheme', 'inbox']

/** Only as flags: confirmations, dangerous options, and the format of the output. */
const flagOnly = [
  ...['yes', 'write', 'force', 'raw', 'apply', 'rollback', 'showPayload'],
  ...['json', 'color', 'config', 'map', 'version'],
]

/** Options with another meaning in each command, so one value cannot apply to all. */
const particular = ['at', 'port', 'rate', 'since', 'tenant']

/** `--header` adds headers in `send` and `doctor`, and selects one in `discover`. */
function isParticular(option: Option): boolean {
  const key = option.attributeName()
  return particular.includes(key) || (key === 'header' && !isRepeatable(option))
}

/** Sets the options of the command about to run that were not passed as flags. */
export function applySettings(root: Command, sources: SettingSources): void {
  root.hook('preAction', (_, command) => {
    for (const option of command.options) applyTo(command, option, sources)
  })
}

function applyTo(command: Command, option: Option, { config, env }: SettingSources): void {
  const key = option.attributeName()
  const source = command.getOptionValueSource(key)
  if (flagOnly.includes(key) || (source !== undefined && source !== 'default')) return
  const variable = variableOf(command, option)
  const text = variable === undefined ? undefined : env[variable]
  // An empty variable counts as unset, as in `IDV_TIMEOUT= idv-webhooks …`.
  if (variable !== undefined && text !== undefined && text !== '') {
    const read = () => fromText(option, text)
    command.setOptionValueWithSource(key, reading(variable, read), 'env')
    return
  }
  // WEBHOOK_SECRET overrides the file.
  if (key === 'secretFile' && env.WEBHOOK_SECRET) return
  const own = sectionOf(config.values, pathOf(command))?.[key]
  const isForAll = !readElsewhere.includes(key) && !isParticular(option)
  const value = own === undefined && isForAll ? config.values[key] : own
  if (value === undefined) return
  const isNegated = value === false && command.options.some((one) => isNegationOf(one, key))
  const read = () => (isNegated ? false : fromFile(option, value))
  command.setOptionValueWithSource(key, reading(`config file: ${key}`, read), 'config')
}

/** `--no-tenant` is false in the file. */
function isNegationOf(option: Option, key: string): boolean {
  return option.negate && option.attributeName() === key
}

function reading(name: string, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
    throw new CliError(
      name.startsWith('IDV_') ? 'USAGE' : 'CONFIG_INVALID',
      `${name} is invalid. ${why}`,
    )
  }
}

function fromText(option: Option, text: string): unknown {
  if (!isRepeatable(option)) return option.parseArg ? option.parseArg(text, undefined) : text
  return listOf(text).reduce<unknown>((all, one) => option.parseArg?.(one, all), undefined)
}

/** One value, or several as a JSON array of strings. */
function listOf(text: string): readonly string[] {
  try {
    const json: unknown = JSON.parse(text)
    if (Array.isArray(json) && json.every((one) => typeof one === 'string')) return json
  } catch {
    // Not JSON: a single value.
  }
  return [text]
}

function fromFile(option: Option, value: unknown): unknown {
  if (option.isBoolean() || option.negate) {
    if (typeof value === 'boolean') return value
    throw new Error('Pass true or false.')
  }
  const many = isRepeatable(option)
  if (Array.isArray(value) && !many) throw new Error('Pass one value, not a list.')
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.reduce<unknown>((all, one) => {
    if (typeof one !== 'string' && typeof one !== 'number') throw new Error('Pass a string.')
    return option.parseArg ? option.parseArg(String(one), all) : String(one)
  }, undefined)
}

/** The variable of an option: IDV_SECRET_FILE for `--secret-file`, IDV_SEND_RATE for `send --rate`. */
export function variableOf(command: Command, option: Option): string | undefined {
  const key = option.attributeName()
  if (!(option.required || option.optional) || flagOnly.includes(key)) {
    return key === 'config' ? 'IDV_CONFIG' : undefined
  }
  const words = key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()
  return isParticular(option)
    ? `IDV_${pathOf(command).replaceAll(' ', '_').toUpperCase()}_${words}`
    : `IDV_${words}`
}

/** The full name of a command: `send`, `inbox list`. */
function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${pathOf(command.parent)} ` : ''
  return above + command.name()
}

/** The section of a command in the file: `{ "send": { "rate": 5 } }`. */
function sectionOf(values: Values, path: string): Values | undefined {
  if (otherKeys.includes(path) || !Object.hasOwn(values, path)) return undefined
  const found = values[path]
  return typeof found === 'object' && found !== null ? (found as Values) : undefined
}

/** A command and all its subcommands. */
export function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** The keys of a file that are not options of these commands: sections, and misspelt keys. */
export function unknownKeys({ values }: Config, root: Command): readonly string[] {
  const known = new Set([...otherKeys, ...everyCommand(root).flatMap(keysOf)])
  return Object.keys(values).filter((key) => !known.has(key))
}

function keysOf({ options }: Command): readonly string[] {
  return options.map((option) => option.attributeName())
}

/**
 * Rejects unknown keys of a file; `root` has every command.
 *
 * @throws CliError `CONFIG_INVALID`
 */
export function checkKeys({ file, values }: Config, root: Command): void {
  const all = everyCommand(root).filter((command) => command.parent)
  const keys = all.flatMap(keysOf)
  const paths = all.filter(({ options }) => options.length > 0).map(pathOf)
  const shared = keys.filter((key) => !particular.includes(key))
  for (const key of Object.keys(values)) {
    if (otherKeys.includes(key)) continue
    if (paths.includes(key)) checkSection(values[key], { file, key, all })
    else if (flagOnly.includes(key)) throw configError(file, notInFile(key))
    else if (particular.includes(key)) throw configError(file, onlyInSection(key))
    else refuseUnknown(key, { known: [...shared, ...paths, ...otherKeys], file })
  }
}

interface Section {
  readonly file: string | undefined
  readonly key: string
  readonly all: readonly Command[]
}

function checkSection(section: unknown, { file, key: path, all }: Section): void {
  if (typeof section !== 'object' || section === null || Array.isArray(section)) {
    throw configError(file, `must have an object as '${path}': { … }`)
  }
  const command = all.find((one) => pathOf(one) === path)
  const known = command ? keysOf(command) : []
  for (const key of Object.keys(section)) {
    if (flagOnly.includes(key)) throw configError(file, notInFile(key))
    refuseUnknown(key, { known, file, where: ` in the section ${path}` })
  }
}

const notInFile = (key: string) => `has the key '${key}', which is a flag only`

const onlyInSection = (key: string) =>
  `has '${key}' for all commands, but each gives it another meaning: put it into a section, e.g. { "send": { "${key}": … } }`

interface KnownKeys {
  readonly known: readonly string[]
  readonly file: string | undefined
  readonly where?: string
}

function refuseUnknown(key: string, { known, file, where = '' }: KnownKeys): void {
  if (known.includes(key)) return
  const names = known.filter((one) => !flagOnly.includes(one))
  throw configError(file, `has the unknown key '${key}'${where}.${suggestion(key, names)}`)
}
