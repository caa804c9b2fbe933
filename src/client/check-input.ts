// Input is checked before it is sent, by the schemas that the service's own answers follow: what
// the service would refuse with 422 costs no request.
import { type FieldError, type RequestFacts, ValidationError } from './api-error.ts'

/** The part of a schema that checking uses. */
interface Schema {
  safeParse(value: unknown):
    | { readonly success: true }
    | {
        readonly success: false
        readonly error: {
          readonly issues: readonly {
            readonly path: readonly PropertyKey[]
            readonly message: string
          }[]
        }
      }
}

/**
 * Refuses what the service would refuse, with an entry for each offending field.
 *
 * @throws ValidationError
 */
export function checkInput(schema: Schema, value: unknown, requestInfo: RequestFacts): void {
  const result = schema.safeParse(value)
  if (result.success) return
  const errors = new Map<string, FieldError>()
  for (const { path, message } of result.error.issues) {
    const field = path.map(String).join('.')
    if (!errors.has(field)) errors.set(field, { field, message })
  }
  throw invalidInput([...errors.values()], requestInfo)
}

/** Input that is not sent, in the form of the service's own 422. */
export function invalidInput(
  errors: readonly FieldError[],
  requestInfo: RequestFacts,
): ValidationError {
  return new ValidationError({ message: 'the input is not valid', errors, requestInfo })
}

/** What no JSON can carry, by field: a BigInt, a circle, text with half of a character. */
export function jsonFaults(body: unknown): FieldError[] {
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body).flatMap(([field, value]) => {
    const message = jsonFault(value)
    return message === undefined ? [] : [{ field, message }]
  })
}

function jsonFault(value: unknown): string | undefined {
  let broken = false
  try {
    JSON.stringify(value, (key, inner: unknown) => {
      if (!isWhole(key) || (typeof inner === 'string' && !isWhole(inner))) broken = true
      return inner
    })
  } catch {
    return 'cannot be written as JSON'
  }
  return broken ? halfCharacter : undefined
}

/** Values of a query that no address can carry. */
export function queryFaults(query: Readonly<Record<string, unknown>>): FieldError[] {
  return Object.entries(query).flatMap(([field, value]) =>
    typeof value === 'string' && !isWhole(value) ? [{ field, message: halfCharacter }] : [],
  )
}

const halfCharacter = 'holds half of a character (a lone surrogate)'

/** Text that UTF-8 can carry. */
function isWhole(text: string): boolean {
  return text.isWellFormed()
}

/** A query as the wire has it: dates and booleans as text, one status as a list. */
export function wireQuery(query: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(query).flatMap(([name, value]: [string, unknown]) =>
      value === undefined ? [] : [[name, wireValue(name, value)]],
    ),
  )
}

function wireValue(name: string, value: unknown): unknown {
  // An invalid date becomes text that the schema refuses.
  if (value instanceof Date) return Number.isNaN(+value) ? String(value) : value.toISOString()
  if (typeof value === 'boolean') return String(value)
  return name === 'status' && typeof value === 'string' ? value.split(',') : value
}
