// From settings to options: flag > environment > config file, for every option that is no flag of
// consent. A key that no command knows is refused, since it would be ignored in silence.
import type { Command, Option } from 'commander'
import { nearest } from '../check.ts'
import { type Config, refuseConfig } from './config.ts'
import { CliError } from './exit-code.ts'
import { isRepeatable } from './repeated.ts'

/** What an option's value is looked up in. */
export interface SettingSources {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
}

type Values = Readonly<Record<string, unknown>>

/** Keys that are not the option of any command. */
const otherKeys = [
  ...['$schema', 'secret', 'scheme', 'envelope', 'client'],
  ...['inbox', 'store', 'encryption', 'retention'],
]

/** Keys that no option may take from the top of a file: commands read them there themselves. */
const readElsewhere = ['scheme', 'inbox']

/** Said with the call or not at all: consent, danger, and how to speak. */
const saidOnly = [
  ...['yes', 'write', 'force', 'raw', 'apply', 'rollback', 'showPayload'],
  ...['json', 'color', 'config', 'map', 'version'],
]

/** Options that mean something else in each command, so that one value cannot be for all. */
const particular = ['at', 'port', 'rate']

/** The headers of `send` are a list for all its calls; the one of `discover` is another matter. */
function isParticular(option: Option): boolean {
  const key = option.attributeName()
  return particular.includes(key) || (key === 'header' && !isRepeatable(option))
}

/** Gives the command that is about to run what was not said as a flag. */
export function applySettings(root: Command, sources: SettingSources): void {
  root.hook('preAction', (_, command) => {
    for (const option of command.options) applyTo(command, option, sources)
  })
}

function applyTo(command: Command, option: Option, { config, env }: SettingSources): void {
  const key = option.attributeName()
  const said = command.getOptionValueSource(key)
  if (saidOnly.includes(key) || (said !== undefined && said !== 'default')) return
  const variable = variableOf(command, option)
  const text = variable === undefined ? undefined : env[variable]
  // An empty one is unset, as in `IDV_TIMEOUT= idv-webhooks …`.
  if (variable !== undefined && text !== undefined && text !== '') {
    const read = () => fromText(option, text)
    command.setOptionValueWithSource(key, reading(variable, read), 'env')
    return
  }
  // WEBHOOK_SECRET is the environment's word for it.
  if (key === 'secretFile' && env.WEBHOOK_SECRET) return
  const own = sectionOf(config.values, pathOf(command))?.[key]
  const isForAll = !readElsewhere.includes(key) && !isParticular(option)
  const value = own ?? (isForAll ? config.values[key] : undefined)
  if (value === undefined) return
  const read = () => fromFile(option, value)
  command.setOptionValueWithSource(key, reading(`config file: ${key}`, read), 'config')
}

function reading(name: string, read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n', 1)[0] : String(error)
    throw new CliError(name.startsWith('IDV_') ? 'USAGE' : 'CONFIG_INVALID', `${name}: ${why}`)
  }
}

function fromText(option: Option, text: string): unknown {
  if (!isRepeatable(option)) return option.parseArg ? option.parseArg(text, undefined) : text
  return listOf(text).reduce<unknown>((all, one) => option.parseArg?.(one, all), undefined)
}

/** One value, or several as a JSON array of texts. */
function listOf(text: string): readonly string[] {
  try {
    const json: unknown = JSON.parse(text)
    if (Array.isArray(json) && json.every((one) => typeof one === 'string')) return json
  } catch {
    // It is one text, then.
  }
  return [text]
}

function fromFile(option: Option, value: unknown): unknown {
  if (option.isBoolean() || option.negate) {
    if (typeof value === 'boolean') return value
    throw new Error('must be true or false')
  }
  const many = isRepeatable(option)
  if (Array.isArray(value) && !many) throw new Error('takes one value')
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.reduce<unknown>((all, one) => {
    if (typeof one !== 'string' && typeof one !== 'number') throw new Error('must be text')
    return option.parseArg ? option.parseArg(String(one), all) : String(one)
  }, undefined)
}

/** The variable of an option: `--secret-file` is IDV_SECRET_FILE; `--rate` of send IDV_SEND_RATE. */
export function variableOf(command: Command, option: Option): string | undefined {
  const key = option.attributeName()
  if (!(option.required || option.optional) || saidOnly.includes(key)) {
    return key === 'config' ? 'IDV_CONFIG' : undefined
  }
  const words = key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()
  return isParticular(option)
    ? `IDV_${pathOf(command).replaceAll(' ', '_').toUpperCase()}_${words}`
    : `IDV_${words}`
}

/** A command as it is called: `send`, `inbox list`. */
function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${pathOf(command.parent)} ` : ''
  return above + command.name()
}

/** A command's own part of the file: `{ "send": { "rate": 5 } }`. */
function sectionOf(values: Values, path: string): Values | undefined {
  if (otherKeys.includes(path) || !Object.hasOwn(values, path)) return undefined
  const found = values[path]
  return typeof found === 'object' && found !== null ? (found as Values) : undefined
}

/** Every command below, and it itself, that has options of its own. */
export function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** The keys of a file that are no option of these commands: sections, and what is misspelt. */
export function unknownKeys({ values }: Config, root: Command): readonly string[] {
  const known = new Set([...otherKeys, ...everyCommand(root).flatMap(keysOf)])
  return Object.keys(values).filter((key) => !known.has(key))
}

function keysOf({ options }: Command): readonly string[] {
  return options.map((option) => option.attributeName())
}

/** Refuses a file with a key that means nothing where it stands; `root` has every command. */
export function checkKeys({ file, values }: Config, root: Command): void {
  const all = everyCommand(root).filter((command) => command.parent)
  const keys = all.flatMap(keysOf)
  const paths = all.filter(({ options }) => options.length > 0).map(pathOf)
  const shared = keys.filter((key) => !particular.includes(key))
  for (const key of Object.keys(values)) {
    if (otherKeys.includes(key)) continue
    if (paths.includes(key)) checkSection(values[key], { file, key, all })
    else if (saidOnly.includes(key)) throw refuseConfig(file, saidWith(key))
    else if (particular.includes(key)) throw refuseConfig(file, inSection(key))
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
    throw refuseConfig(file, `has ${path} as no section: give it as { … }`)
  }
  const command = all.find((one) => pathOf(one) === path)
  const known = command ? keysOf(command) : []
  for (const key of Object.keys(section)) {
    if (saidOnly.includes(key)) throw refuseConfig(file, saidWith(key))
    refuseUnknown(key, { known, file, where: ` in the section ${path}` })
  }
}

const saidWith = (key: string) => `has the key '${key}', which is said with the call and not kept`

const inSection = (key: string) =>
  `has '${key}' for every command, and each means something else by it: put it into a section, such as { "send": { "${key}": … } }`

interface Known {
  readonly known: readonly string[]
  readonly file: string | undefined
  readonly where?: string
}

function refuseUnknown(key: string, { known, file, where = '' }: Known): void {
  if (known.includes(key)) return
  const close = nearest(
    key,
    known.filter((one) => !saidOnly.includes(one)),
  )
  const hint = close === undefined ? '' : `: did you mean '${close}'?`
  throw refuseConfig(file, `has the unknown key '${key}'${where}${hint}`)
}
