// Changes single fields of JSON by their paths: `data.status=approved`, `data.tags.0=x`.
import { parseJson } from '../../src/foundation/json.ts'
import { usageError } from './exit-code.ts'

/** Fields to set (`path=value`, the value as JSON or else text) and paths to remove. */
export interface Changes {
  readonly sets: readonly string[]
  readonly remove: readonly string[]
}

type JsonContainer = Record<string, unknown>

/** Changes a copy: creates objects on the path, and appends at most one element to a list. */
export function override(json: unknown, { sets, remove }: Changes): unknown {
  const copy = structuredClone(json)
  for (const set of sets) {
    const at = set.indexOf('=')
    if (at < 1) throw usageError(`--override must be path=value, got '${set}'`)
    const text = set.slice(at + 1)
    const given = parseJson(text)
    const { container, key } = walk(copy, set.slice(0, at), true)
    if (container) container[key] = given ? given.value : text
  }
  for (const path of remove) {
    const { container, key } = walk(copy, path, false)
    if (Array.isArray(container)) container.splice(Number(key), 1)
    else if (container) delete container[key]
  }
  return copy
}

function walk(root: unknown, path: string, make: boolean) {
  const keys = path.split('.')
  if (keys.some((key) => key === '' || key === '__proto__'))
    throw usageError(`'${path}' is not a path such as data.status`)
  const key = keys.pop() ?? ''
  let at = root
  for (const step of keys) {
    const container = within(at, step)
    if (!Object.hasOwn(container, step)) {
      if (!make) return { key }
      container[step] = {}
    }
    at = container[step]
  }
  return { container: within(at, key), key }

  /** Returns the value inside a field. In a list the field is an index; `make` adds the next one. */
  function within(value: unknown, field: string): JsonContainer {
    if (!isContainer(value)) throw usageError(`'${path}' leads through a value that has no fields`)
    const elements = Array.isArray(value) ? value.length : undefined
    const isIndex = /^(0|[1-9]\d*)$/.test(field)
    if (elements === undefined || (isIndex && Number(field) < elements + Number(make))) return value
    throw usageError(`'${path}': '${field}' is not an element of a list of ${elements}`)
  }
}

function isContainer(value: unknown): value is JsonContainer {
  return typeof value === 'object' && value !== null
}
