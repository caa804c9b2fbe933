// What no JSON can carry as it was given: it would be refused by nobody and arrive as something
// else, NaN as null, a Map as an empty object. It is told by its field before anything is sent.
import type { FieldError } from './api-error.ts'

export const halfCharacter = 'holds half of a character (a lone surrogate)'

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
  if (!key.isWellFormed()) return halfCharacter
  switch (typeof value) {
    case 'string':
      return value.isWellFormed() ? undefined : halfCharacter
    case 'number':
      return Number.isFinite(value) ? undefined : `holds ${value}, which no JSON can carry`
    case 'undefined':
      // Of an object it is left out, as everywhere; in a list it would become null.
      return inArray ? 'holds undefined in a list, which no JSON can carry' : undefined
    case 'function':
    case 'symbol':
      return `holds a ${typeof value}, which no JSON can carry`
    case 'object': {
      const kind = Object.prototype.toString.call(value).slice(8, -1)
      if (plain.has(kind)) return undefined
      return `holds a ${kind}, which no JSON can carry`
    }
  }
  return undefined
}

/** What JSON writes as what it is; a `toJSON` was asked before. */
const plain = new Set(['Object', 'Array', 'Null', 'String', 'Number', 'Boolean'])
