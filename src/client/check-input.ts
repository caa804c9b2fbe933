// Input is checked before it is sent, by the schemas that the service's own responses follow: what
// the service would refuse with 422 costs no request.
import { suggestion } from '../foundation/check.ts'
import { type FieldError, type RequestDetails, ValidationError } from './api-error.ts'
import { loneSurrogate } from './json-faults.ts'

/** The part of a schema that checking uses. */
interface InputSchema {
  readonly shape: Readonly<Record<string, unknown>>
  safeParse(value: unknown): {
    readonly error?: {
      readonly issues: readonly {
        readonly path: readonly PropertyKey[]
        readonly message: string
      }[]
    }
  }
}

/** The first fault of each field that the service would refuse. */
export function schemaFaults(schema: InputSchema, value: unknown): FieldError[] {
  const errors = new Map<string, FieldError>()
  for (const { path, message } of schema.safeParse(value).error?.issues ?? []) {
    const field = path.map(String).join('.')
    if (!errors.has(field)) errors.set(field, { field, message })
  }
  return [...errors.values()]
}

/** @throws ValidationError in the form of the service's own 422, if there are faults */
export function refuse(errors: readonly FieldError[], requestInfo: RequestDetails): void {
  if (errors.length === 0) return
  throw new ValidationError({ message: 'the input is not valid', errors, requestInfo })
}

/**
 * Parameters that the service does not know, which it would ignore and answer with the wrong list,
 * and text that cannot be part of an address.
 */
export function queryFaults(
  { shape }: InputSchema,
  query: Readonly<Record<string, unknown>>,
): FieldError[] {
  const known = Object.keys(shape)
  return Object.entries(query).flatMap(([field, value]) => {
    if (!known.includes(field)) {
      const message = `is not a parameter of this list.${suggestion(field, known)} Known: ${known.join(', ')}`
      return [{ field, message }]
    }
    const broken = typeof value === 'string' && !value.isWellFormed()
    return broken ? [{ field, message: loneSurrogate }] : []
  })
}

/** A query as it is sent: dates and booleans as text, one status as a list. */
export function wireQuery(query: object): Record<string, unknown> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given.map(([name, value]) => [name, wireValue(name, value)]))
}

function wireValue(name: string, value: unknown): unknown {
  // An invalid date becomes text that the schema refuses.
  if (value instanceof Date) return Number.isNaN(+value) ? String(value) : value.toISOString()
  if (typeof value === 'boolean') return String(value)
  return name === 'status' && typeof value === 'string' ? value.split(',') : value
}
