// Changes single fields of JSON by their paths: `data.status=approved`.
import { parseJson } from '../../src/foundation/json.ts'
import { usageError } from './exit-code.ts'

type JsonFields = Record<string, unknown>

/** Changes a copy. `sets` are `path=value`, the value as JSON or else text; `remove` are paths. */
export function override(
  json: unknown,
  { sets, remove }: { readonly sets: readonly string[]; readonly remove: readonly string[] },
): unknown {
  const copy = structuredClone(json)
  for (const set of sets) {
    const at = set.indexOf('=')
    if (at < 1) throw usageError(`--override must be path=value, got '${set}'`)
    const text = set.slice(at + 1)
    const given = parseJson(text)
    const [holder, key] = holderOf(copy, set.slice(0, at), true)
    holder[key] = given ? given.value : text
  }
  for (const path of remove) {
    const [holder, key] = holderOf(copy, path, false)
    delete holder[key]
  }
  return copy
}

/** The object that has the last field of a path; `make` creates missing ones. */
function holderOf(root: unknown, path: string, make: boolean): readonly [JsonFields, string] {
  const keys = path.split('.')
  if (keys.some((key) => key === '' || key === '__proto__'))
    throw usageError(`'${path}' is not a path such as data.status`)
  const last = keys.pop() ?? ''
  let holder = fieldsAt(root, path)
  for (const key of keys) {
    if (!Object.hasOwn(holder, key)) {
      if (!make) return [{}, last]
      holder[key] = {}
    }
    holder = fieldsAt(holder[key], path)
  }
  return [holder, last]
}

function fieldsAt(value: unknown, path: string): JsonFields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as JsonFields
  }
  throw usageError(`'${path}' leads through a value without fields: set that value as JSON`)
}
