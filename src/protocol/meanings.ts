// The meaning of a received name: its canonical name, the type of its entity, and the schema that its
// data has to fit.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { WebhookError } from '../errors.ts'
import { ignoreRejection } from '../host/promises.ts'
import { eventSchemas, type Issue } from './events.ts'
import { canonicalName, isEventName, legacyNameOf } from './names.ts'

/** Schemas by canonical event name: they replace the built-in ones or add events of their own. */
export type SchemaMap = Readonly<Record<string, StandardSchemaV1>>

export interface Meaning {
  readonly name: string
  /** The type of entity of its events. */
  readonly type: string
  /** Undefined if nothing is validated. */
  readonly schema: StandardSchemaV1 | undefined
}

/** Data as their schema returns them; if they do not fit it, unchanged and with the reasons. */
export interface Checked {
  readonly data: unknown
  readonly issues?: readonly Issue[]
}

interface Choices {
  readonly validate: 'report' | 'reject' | 'off'
  readonly legacy: 'accept' | 'reject'
}

/** A rejected legacy name still tells the event's entity. */
export const unknownMeaning = (name: string): Meaning => ({
  name,
  type: typeOf(canonicalName(name)),
  schema: undefined,
})

/**
 * Empty unless the text looks like a type: listings show it, and a person's name may have a dot.
 */
const typeOf = (name: string) => /^([a-z][\w-]{0,99})\.\S*$/i.exec(name)?.[1] ?? ''

const builtIn = new Map<string, ReadonlyMap<string, Meaning>>()

/**
 * The meanings of all known names, legacy names included if they are accepted.
 *
 * @throws WebhookError `SCHEMA_INVALID`
 */
export function createMeanings(
  schemas: SchemaMap | undefined,
  choices: Choices,
): ReadonlyMap<string, Meaning> {
  if (schemas) return meaningsOf(checkedSchemas(schemas), choices)
  // Kept, so that `parse` need not make them for each delivery.
  const key = `${choices.validate} ${choices.legacy}`
  const meanings = builtIn.get(key) ?? meaningsOf(eventSchemas, choices)
  builtIn.set(key, meanings)
  return meanings
}

function meaningsOf(schemas: SchemaMap, { validate, legacy }: Choices) {
  const meanings = new Map<string, Meaning>()
  for (const [name, schema] of Object.entries(schemas)) {
    const type = typeOf(name)
    const meaning = { name, type, schema: validate === 'off' ? undefined : schema }
    meanings.set(name, meaning)
    const older = legacyNameOf(name)
    if (older !== undefined && legacy === 'accept') meanings.set(older, meaning)
  }
  return meanings
}

/** A sender may cause a million issues; the first ones show what is wrong. */
const maxIssues = 100

/**
 * Holds data against the schema of their name.
 *
 * @throws WebhookError `SCHEMA_ASYNC`
 */
export function checkData(
  value: unknown,
  { name, schema }: Pick<Meaning, 'name' | 'schema'>,
): Checked {
  if (!schema) return { data: value }
  const result = schema['~standard'].validate(value)
  if ('then' in result) {
    ignoreRejection(result)
    try {
      // zod answers with a promise if a transform throws, and its synchronous form throws that error.
      ;(schema as { safeParse?(value: unknown): unknown }).safeParse?.(value)
    } catch (error) {
      if (!String(error).includes('synchronous parse')) throw error
    }
    throw new WebhookError(
      'SCHEMA_ASYNC',
      `the schema of ${name} answers with a promise: validate synchronously, look things up in the handler`,
    )
  }
  if (!result.issues) return { data: result.value }
  return { data: value, issues: result.issues.slice(0, maxIssues).map(toIssue) }
}

function toIssue(issue: StandardSchemaV1.Issue): Issue {
  const path = (issue.path ?? []).map((step) => (typeof step === 'object' ? step.key : step))
  return {
    message: issue.message,
    path: path.map((key) => (typeof key === 'number' ? key : String(key))),
  }
}

function checkedSchemas(schemas: SchemaMap): SchemaMap {
  for (const [name, schema] of Object.entries(schemas)) {
    const refuse = (why: string) => new WebhookError('SCHEMA_INVALID', `schemas['${name}'] ${why}`)
    if (typeof schema?.['~standard']?.validate !== 'function') {
      throw refuse('must be a Standard Schema, such as a zod object')
    }
    if (canonicalName(name) !== name || (!isEventName(name) && !/^[^.*\s]+\.[^*\s]+$/.test(name))) {
      throw refuse(`must be named '<resource>.<event>', e.g. '${canonicalName(name)}'`)
    }
  }
  return { ...eventSchemas, ...schemas }
}
