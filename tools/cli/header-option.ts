// The option --header of commands that send: further headers, signed where the scheme signs them.
import { validateHeaderName, validateHeaderValue } from 'node:http'
import type { Scheme } from '../../src/index.ts'
import { CliError } from './exit-code.ts'
import type { HeaderPairs } from './header-pairs.ts'

/** Headers beside those that a command writes itself, in their order and spelling. */
export interface ExtraHeaders {
  readonly all: HeaderPairs
  /** Those that the scheme signs, in lower case. */
  readonly signed: Readonly<Record<string, string>>
}

/** Reads them; a scheme that signs one which is missing says which before anything is sent. */
export function extraHeaders(given: readonly string[] | undefined, scheme: Scheme): ExtraHeaders {
  const all = (given ?? []).map(headerOf)
  const [missing] = missingOf(scheme, all)
  if (missing === undefined) return { all, signed: signedOf(scheme, all) }
  const option = `pass --header '${missing}: …', as your sender sends it`
  throw new CliError('USAGE', `scheme ${scheme.name} signs the header ${missing}: ${option}`)
}

/** The names that a scheme signs beside its own headers, in lower case. */
function signedNames({ template }: Scheme): readonly string[] {
  return template.flatMap((part) => ('header' in part ? [part.header.toLowerCase()] : []))
}

/** The names that a scheme signs and that are not among the headers. */
export function missingOf(scheme: Scheme, headers: HeaderPairs): readonly string[] {
  const names = headers.map(([name]) => name.toLowerCase())
  return signedNames(scheme).filter((name) => !names.includes(name))
}

function signedOf(scheme: Scheme, headers: HeaderPairs): Readonly<Record<string, string>> {
  const names = signedNames(scheme)
  const pairs = headers.map(([name, value]) => [name.toLowerCase(), value] as const)
  return Object.fromEntries(pairs.filter(([name]) => names.includes(name)))
}

function headerOf(text: string): readonly [string, string] {
  const at = text.indexOf(':')
  const [name, value] = [text.slice(0, Math.max(at, 0)).trim(), text.slice(at + 1).trim()]
  try {
    validateHeaderName(name)
    validateHeaderValue(name, value)
  } catch {
    throw new CliError('USAGE', "--header must be 'name: value'")
  }
  return [name, value]
}
