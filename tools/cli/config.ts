// The config file: found in the current folder, loaded once. settings.ts defines its keys.
import { existsSync, readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CliError } from './exit-code.ts'
import { statOf } from './stat-of.ts'

/** A loaded config file; `values` has its keys unchanged. */
export interface Config {
  readonly file?: string
  readonly values: Readonly<Record<string, unknown>>
}

/** In search order. */
const names = ['ts', 'mts', 'js', 'mjs', 'json'].map((end) => `idv-webhooks.config.${end}`)

/** Finds and loads the config file; a missing one is an empty config. */
export async function loadConfig(cwd: string, named: string | undefined): Promise<Config> {
  const file =
    named === undefined
      ? names.map((name) => join(cwd, name)).find((path) => existsSync(path))
      : resolve(cwd, named)
  if (file === undefined) return { values: {} }
  const found = statOf(file)
  if (!found) throw configError(file, 'does not exist')
  if (found.isDirectory()) throw configError(file, 'is a folder: pass the file in it')
  return { file, values: await valuesOf(file) }
}

async function valuesOf(file: string): Promise<Record<string, unknown>> {
  let found: unknown
  try {
    found = file.endsWith('.json')
      ? JSON.parse(readFileSync(file, 'utf8').replace(/^\uFEFF/, ''))
      : exported(await load(file))
  } catch (error) {
    // A parser's message quotes the text around the error, which may be a secret.
    const why = file.endsWith('.json') ? 'it is not JSON' : reasonOf(error)
    throw configError(file, `cannot be loaded: ${why}`)
  }
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) {
    return found as Record<string, unknown>
  }
  throw configError(file, 'must export an object: export default { secret, scheme, to, … }')
}

function exported(module: Record<string, unknown>): unknown {
  return module.default ?? module.config
}

/** A file with `export` is a module, whatever the package.json beside it says. */
async function load(file: string): Promise<Record<string, unknown>> {
  const url = pathToFileURL(file).href
  const isModule = /\.[jt]s$/.test(file) && /^export\s/m.test(readFileSync(file, 'utf8'))
  // Bun has no such hooks, and takes the file for a module by itself.
  if (!isModule || !('registerHooks' in nodeModule)) return import(url)
  const format = file.endsWith('.ts') ? 'module-typescript' : 'module'
  const hooks = nodeModule.registerHooks({
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
    ? `${message}: name it idv-webhooks.config.mts or .mjs to make it a module`
    : message
}

/** An error of a config file, with its name. */
export function configError(file: string | undefined, why: string): CliError {
  const name = file === undefined ? '' : ` ${basename(file)}`
  return new CliError('CONFIG_INVALID', `config file${name} ${why}`)
}
