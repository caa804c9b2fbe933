// The meaning of a received name: its canonical name, the type of its entity, and the schema that its
// data has to fit.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { WebhookError } from '../errors.ts'
import { checkChoice } from '../foundation/check.ts'
import { defined } from '../foundation/defined.ts'
import { ignoreRejection } from '../host/promises.ts'
import { eventSchemas, type Issue, type WebhookEvent } from './events.ts'
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

/** The options by which the data of events are read. */
export interface MeaningOptions {
  readonly schemas?: SchemaMap
  readonly validate?: 'report' | 'reject' | 'off'
  readonly legacy?: 'accept' | 'reject'
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

/** The meanings of all names that are accepted, and what becomes of data that do not fit. */
export interface Meanings {
  readonly validate: 'report' | 'reject' | 'off'
  readonly meanings: ReadonlyMap<string, Meaning>
}

/** @throws WebhookError `SCHEMA_INVALID`, `OPTION_INVALID` */
export function createMeanings(options: MeaningOptions): Meanings {
  const { schemas, validate = 'report', legacy = 'accept' } = options
  checkChoice('validate', validate, ['report', 'reject', 'off'])
  checkChoice('legacy', legacy, ['accept', 'reject'])
  const make = (by: SchemaMap) => meaningsOf(by, validate !== 'off', legacy === 'accept')
  if (schemas) return { validate, meanings: make(checkedSchemas(schemas)) }
  // Kept, so that `parse` need not make them for each delivery.
  const key = `${validate} ${legacy}`
  const meanings = builtIn.get(key) ?? make(eventSchemas)
  builtIn.set(key, meanings)
  return { validate, meanings }
}

function meaningsOf(schemas: SchemaMap, isChecked: boolean, takesLegacy: boolean) {
  const meanings = new Map<string, Meaning>()
  for (const [name, schema] of Object.entries(schemas)) {
    const meaning = { name, type: typeOf(name), schema: isChecked ? schema : undefined }
    meanings.set(name, meaning)
    const older = legacyNameOf(name)
    if (older !== undefined && takesLegacy) meanings.set(older, meaning)
  }
  return meanings
}

/** An event with other data of its resource, by the schema that the data which came have to fit. */
export type WithData = (event: WebhookEvent, data: unknown) => WebhookEvent

export function createWithData(options: MeaningOptions): WithData {
  const { validate, meanings } = createMeanings(options)
  return ({ issues: _, ...event }, current) => {
    const meaning = meanings.get(event.name) ?? unknownMeaning(event.name)
    const { data, issues } = checkData(current, meaning)
    if (issues && validate === 'reject') {
      throw new TypeError(`the current resource does not fit the schema of ${meaning.name}`)
    }
    return defined({ ...event, data, issues }) as unknown as WebhookEvent
  }
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
