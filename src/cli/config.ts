// The config file: found beside the caller, loaded once, every key checked. Precedence is
// flag > environment > file; commander keeps it, this file only hands the values over.
import { existsSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command, Option } from 'commander'
import { CliError } from './exit-code.ts'

/** What a config file said; `values` has its keys as they stand. */
export interface Config {
  readonly file?: string
  readonly values: Readonly<Record<string, unknown>>
}

const names = ['ts', 'js', 'json'].map((end) => `idv-webhooks.config.${end}`)

/** Keys that are not the option of any command. */
const otherKeys = [
  ...['$schema', 'secret', 'scheme', 'envelope', 'client', 'sandbox'],
  ...['inbox', 'store', 'encryption', 'retention'],
]

/** Finds and loads the config file; without one the config is empty. */
export async function loadConfig(cwd: string, named: string | undefined): Promise<Config> {
  const file =
    named === undefined
      ? names.map((name) => join(cwd, name)).find((path) => existsSync(path))
      : resolve(cwd, named)
  if (file === undefined) return { values: {} }
  if (!existsSync(file)) throw refuse(file, 'is not there')
  return { file, values: await valuesOf(file) }
}

async function valuesOf(file: string): Promise<Record<string, unknown>> {
  let found: unknown
  try {
    if (file.endsWith('.json')) found = JSON.parse(readFileSync(file, 'utf8'))
    else {
      const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
      found = module.default ?? module.config
    }
  } catch (error) {
    // A parser's message quotes the text that it stumbled over, and that may be a secret.
    const why = file.endsWith('.json') ? 'it is no JSON' : messageOf(error)
    throw refuse(file, `cannot be loaded: ${why}`)
  }
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) {
    return found as Record<string, unknown>
  }
  throw refuse(file, 'gives no object: export default { secret, scheme, to, … }')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)
}

function refuse(file: string, why: string): CliError {
  return new CliError('CONFIG_INVALID', `config file ${basename(file)} ${why}`)
}

/** Gives a command's options the config file's values. */
export function applySettings(command: Command, config: Config): void {
  for (const option of command.options) {
    const key = option.attributeName()
    const value = config.values[key]
    if (value === undefined || otherKeys.includes(key)) continue
    if (key === 'yes') throw new CliError('CONFIG_INVALID', 'config file: yes is said, not kept')
    command.setOptionValueWithSource(key, readValue(option, value), 'config')
  }
  for (const sub of command.commands) applySettings(sub, config)
}

function readValue(option: Option, value: unknown): unknown {
  const refused = (why: string) =>
    new CliError('CONFIG_INVALID', `config file: ${option.attributeName()} ${why}`)
  if (option.isBoolean() || option.negate) {
    if (typeof value === 'boolean') return value
    throw refused('must be true or false')
  }
  const one = (item: unknown, before: unknown) => {
    if (typeof item !== 'string' && typeof item !== 'number') throw refused('must be text')
    try {
      return option.parseArg ? option.parseArg(String(item), before) : String(item)
    } catch (error) {
      throw refused(messageOf(error))
    }
  }
  if (!Array.isArray(value)) return one(value, undefined)
  return (value as readonly unknown[]).reduce<unknown>((all, item) => one(item, all), undefined)
}

/** Refuses keys that no command knows: a misspelt one would be ignored in silence. */
export function checkKeys(config: Config, commands: readonly Command[]): void {
  const options = commands.flatMap(everyOption).map((option) => option.attributeName())
  const known = new Set([...options, ...otherKeys])
  const unknown = Object.keys(config.values).find((key) => !known.has(key))
  if (unknown === undefined || !config.file) return
  throw refuse(config.file, `has the unknown key '${unknown}'`)
}

function everyOption(command: Command): readonly Option[] {
  return [...command.options, ...command.commands.flatMap(everyOption)]
}
