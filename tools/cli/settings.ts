// Settings of options: flag > environment > config file. The file is found in the
// current folder and loaded once; its unknown keys are errors.
import { existsSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command, Option } from 'commander'
import { reasonOf } from '../../src/errors.ts'
import { suggestion } from '../../src/foundation/check.ts'
import { CliError, usageError } from './exit-code.ts'
import { statOf } from './files.ts'

export interface Config {
  readonly file?: string
  readonly values: Readonly<Record<string, unknown>>
}

/** Keys that are not options; commands read them. */
const otherKeys = ['$schema', 'secret', 'scheme', 'client', 'inbox']
/** Only as flags: confirmations, dangerous options, and the format of the output. */
const flagOnly = [
  ...['yes', 'write', 'force', 'raw', 'apply', 'rollback', 'showPayload'],
  ...['json', 'color', 'config', 'map', 'version'],
]
/** Options that have another meaning in each command: one value cannot apply to all. */
const particular = ['at', 'port', 'rate', 'since', 'tenant']

const isParticular = (command: Command, key: string) =>
  particular.includes(key) || (key === 'header' && command.name() === 'discover')

/** The variable of an option: IDV_SECRET_FILE for `--secret-file`, IDV_SEND_RATE for `send --rate`. */
export function variableOf(command: Command, option: Option): string | undefined {
  const key = option.attributeName()
  if (key === 'config') return 'IDV_CONFIG'
  if (!(option.required || option.optional) || flagOnly.includes(key)) return undefined
  const name = key.replaceAll(/[A-Z]/g, '_$&')
  const path = isParticular(command, key) ? `${pathOf(command).replaceAll(' ', '_')}_` : ''
  return `IDV_${path}${name}`.toUpperCase()
}

/** The full name of a command: `send`, `inbox list`. */
function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${pathOf(command.parent)} ` : ''
  return above + command.name()
}

interface SettingSources {
  readonly config: Config
  readonly env: Readonly<Record<string, string | undefined>>
}

export function applySettings(root: Command, sources: SettingSources): void {
  root.hook('preAction', (_, command) => {
    for (const option of command.options) applyTo(command, option, sources)
  })
}

/** commander's `Option.env()` reads the process's environment and accepts an empty variable. */
function applyTo(command: Command, option: Option, { config, env }: SettingSources): void {
  const key = option.attributeName()
  if ((command.getOptionValueSource(key) ?? 'default') !== 'default') return
  const variable = variableOf(command, option)
  const text = variable && env[variable]
  // WEBHOOK_SECRET overrides the file.
  const hasFile = !(key === 'secretFile' && env.WEBHOOK_SECRET)
  const isShared = !isParticular(command, key) && !otherKeys.includes(key)
  const value = text || (hasFile && isShared ? config.values[key] : undefined)
  // `--no-tenant` is false in the file.
  const isNegated = value === false && command.options.some(({ long }) => long === `--no-${key}`)
  if (value === undefined || option.negate !== isNegated) return
  try {
    command.setOptionValueWithSource(key, readValue(option, value), text ? 'env' : 'config')
  } catch (error) {
    const why = reasonOf(error).split('\n', 1)[0]
    if (text) throw usageError(`${variable} is invalid. ${why}`)
    throw new CliError('CONFIG_INVALID', `config file: ${key} is invalid. ${why}`)
  }
}

function readValue(option: Option, value: unknown): unknown {
  if (!option.required && !option.optional) {
    if (typeof value === 'boolean') return value
    throw new Error('Pass true or false.')
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.reduce<unknown>((all, one) => {
    if (typeof one !== 'string' && typeof one !== 'number') throw new Error('Pass a string.')
    return option.parseArg ? option.parseArg(String(one), all) : String(one)
  }, undefined)
}

function knownKeys({ options, commands }: Command): readonly string[] {
  const own = options.map((option) => option.attributeName())
  return [...otherKeys, ...own, ...commands.flatMap(knownKeys)]
}

export function hasOtherKeys({ values }: Config, root: Command): boolean {
  const known = knownKeys(root)
  return Object.keys(values).some((key) => !known.includes(key))
}

export function checkKeys({ file, values }: Config, root: Command): void {
  const known = knownKeys(root)
  for (const key of Object.keys(values)) {
    const why = flagOnly.includes(key)
      ? `has the key '${key}', which is a flag only`
      : particular.includes(key)
        ? `has the key '${key}', which means something else in each command: use the flag or its variable`
        : !known.includes(key) && `has the unknown key '${key}'.${suggestion(key, known)}`
    if (why) throw configError(file, why)
  }
}

const names = ['ts', 'mts', 'js', 'mjs', 'json'].map((end) => `idv-webhooks.config.${end}`)

export async function loadConfig(cwd: string, named: string | undefined): Promise<Config> {
  const name = named ?? names.find((one) => existsSync(join(cwd, one)))
  if (name === undefined) return { values: {} }
  const file = resolve(cwd, name)
  const found = statOf(file)
  if (!found) throw configError(file, 'does not exist')
  if (found.isDirectory()) throw configError(file, 'is a folder: pass the file in it')
  const values = await contentOf(file)
  if (typeof values === 'object' && values !== null && !Array.isArray(values)) {
    return { file, values: values as Config['values'] }
  }
  throw configError(file, 'must export an object: export default { secret, scheme, to, … }')
}

async function contentOf(file: string): Promise<unknown> {
  const isJson = file.endsWith('.json')
  try {
    if (isJson) return JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
    const module = (await import(pathToFileURL(file).href)) as Record<string, unknown>
    return module.default ?? module.config
  } catch (error) {
    // A parser's message quotes the text around the error, which may be a secret.
    const why = isJson ? 'it is not JSON' : (reasonOf(error).split('\n', 1)[0] ?? '')
    const isSyntax = error instanceof SyntaxError && /\b(export|import|module)\b/i.test(why)
    const fix = isSyntax ? ': name it idv-webhooks.config.mts or .mjs to make it a module' : ''
    throw configError(file, `cannot be loaded: ${why}${isJson ? '' : fix}`)
  }
}

function configError(file: string | undefined, why: string): CliError {
  const name = file === undefined ? '' : ` ${basename(file)}`
  return new CliError('CONFIG_INVALID', `config file${name} ${why}`)
}
