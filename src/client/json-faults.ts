// Values that JSON cannot represent: JSON.stringify would silently change them, NaN to null, a Map
// to an empty object. They are reported by field before anything is sent.
import type { FieldError } from './api-error.ts'

export const loneSurrogate = 'contains a lone surrogate (half a character)'

/** The fields of a body that cannot be sent as they are. */
export function jsonFaults(body: unknown): FieldError[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([field, value]) => {
    const message = jsonFault(value)
    return message === undefined ? [] : [{ field, message }]
  })
}

function jsonFault(value: unknown): string | undefined {
  let fault: string | undefined
  const paths = new WeakMap<object, string>()
  try {
    // Undefined at the top is a field that was left out.
    if (value === undefined) return undefined
    JSON.stringify(value, function (this: unknown, key, inner: unknown) {
      const above = paths.get(this as object)
      const path = above === undefined ? '' : `${above}.${key}`
      if (typeof inner === 'object' && inner !== null) paths.set(inner, path)
      const why = whyNot(inner, { key, inArray: Array.isArray(this) })
      if (why !== undefined) fault ??= path.length > 1 ? `${why} at ${path.slice(1)}` : why
      return inner
    })
  } catch {
    return fault ?? 'cannot be written as JSON'
  }
  return fault
}

interface Place {
  readonly key: string
  readonly inArray: boolean
}

function whyNot(value: unknown, { key, inArray }: Place): string | undefined {
  if (!key.isWellFormed()) return loneSurrogate
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? undefined : loneSurrogate
    case 'number':
      return Number.isFinite(value) ? undefined : unfit(String(value))
    case 'undefined':
      // An undefined property is left out, as everywhere; in a list it would become null.
      return inArray ? unfit('undefined in a list') : undefined
    case 'function':
    case 'symbol':
      return unfit(`a ${typeof value}`)
    case 'object': {
      const kind = Object.prototype.toString.call(value).slice(8, -1)
      return plain.has(kind) ? undefined : unfit(`a ${kind}`)
    }
  }
  return undefined
}

function unfit(what: string): string {
  return `contains ${what}, which JSON cannot represent`
}

/** Kinds that JSON writes faithfully; `toJSON` was called before. */
const plain = new Set(['Object', 'Array', 'Null', 'String', 'Number', 'Boolean'])
