// The config file: found beside the caller, loaded once. What its keys mean is settings.ts's.
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError } from './exit-code.ts'

/** What a config file said; `values` has its keys as they stand. */
export interface Config {
  readonly file?: string
  readonly values: Readonly<Record<string, unknown>>
}

/** In the order in which they are looked for. */
const names = ['ts', 'mts', 'js', 'mjs', 'json'].map((end) => `idv-webhooks.config.${end}`)

/** Finds and loads the config file; without one the config is empty. */
export async function loadConfig(cwd: string, named: string | undefined): Promise<Config> {
  const file =
    named === undefined
      ? names.map((name) => join(cwd, name)).find((path) => existsSync(path))
      : resolve(cwd, named)
  if (file === undefined) return { values: {} }
  if (!existsSync(file)) throw refuseConfig(file, 'is not there')
  return { file, values: await valuesOf(file) }
}

async function valuesOf(file: string): Promise<Record<string, unknown>> {
  let found: unknown
  try {
    found = file.endsWith('.json')
      ? JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
      : given(await load(file))
  } catch (error) {
    // A parser's message quotes the text that it stumbled over, and that may be a secret.
    const why = file.endsWith('.json') ? 'it is no JSON' : reasonOf(error)
    throw refuseConfig(file, `cannot be loaded: ${why}`)
  }
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) {
    return found as Record<string, unknown>
  }
  throw refuseConfig(file, 'gives no object: export default { secret, scheme, to, … }')
}

function given(module: Record<string, unknown>): unknown {
  return module.default ?? module.config
}

/** A file that exports is a module, whatever the package.json beside it says of its kind. */
async function load(file: string): Promise<Record<string, unknown>> {
  const url = pathToFileURL(file).href
  const isModule = /\.[jt]s$/.test(file) && /^export\s/m.test(readFileSync(file, 'utf8'))
  if (!isModule) return import(url)
  const format = file.endsWith('.ts') ? 'module-typescript' : 'module'
  const hooks = registerHooks({
    load: (at, context, next) => next(at, at === url ? { ...context, format } : context),
  })
  try {
    return await import(url)
  } finally {
    hooks.deregister()
  }
}

function reasonOf(error: unknown): string {
  const message = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error)
  const syntax = error instanceof SyntaxError && / (export|import|module)\b/i.test(message)
  return syntax
    ? `${message}: call it idv-webhooks.config.mts or .mjs to say that it is a module`
    : message
}

/** What is wrong with a config file, by its name. */
export function refuseConfig(file: string | undefined, why: string): CliError {
  const name = file === undefined ? '' : ` ${basename(file)}`
  return new CliError('CONFIG_INVALID', `config file${name} ${why}`)
}
