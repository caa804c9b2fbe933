// Schemas that a receiver does not need by itself: what the API's endpoints take and answer, and
// events by the documented values alone. They are apart because schemas take time at import.

import * as z from 'zod/mini'
import { schemasOf } from './events.ts'
import {
  clientSchema,
  english,
  type Fields,
  limits,
  list,
  listOf,
  object,
  oneOf,
  openVerificationFields,
  record,
  string,
  text,
  verificationSchema,
  whole,
} from './resources.ts'
import { requirementNames } from './values.ts'

/** ISO 3166-1 alpha-2 (section 4.4); which codes are assigned, and their case, is not checked. */
export const countryCode = string.check(
  z.regex(/^[A-Za-z]{2}$/, 'must be an ISO 3166-1 alpha-2 code: two letters'),
)

/** Sections 2.3, 4.1 and 4.4: "format email"; the service documents no other rule. */
export const emailAddress = z.email({
  pattern: /^[^\s@\p{C}]+@[^\s@\p{C}]+$/u,
  error: 'must be an e-mail address',
})

const things = list(z.unknown())

/** Section 2.2: the fields that the single-request read adds to a verification. */
const assembledFields = {
  score: z.nullable(z.number(english).check(z.minimum(0, english), z.maximum(100, english))),
  person: z.nullable(object),
  documents: things,
  biometric: z.nullable(object),
  location: z.nullable(object),
  contact: z.nullable(object),
  business: z.nullable(object),
  financial: z.nullable(object),
  pep: z.nullable(object),
  steps: things,
}

/** Section 2.2: an assembled request, exactly as documented. */
export const assembledVerificationSchema = z.extend(verificationSchema, assembledFields)

/** Section 2.3: a party that gets the result on approval. */
export const thirdPartySchema = record({
  name: text(limits.thirdPartyName),
  email: emailAddress,
  org: z.optional(text(limits.thirdPartyOrg)),
  sharedFields: z.optional(list(string)),
})

/** Section 2.5: the position of a page in its list. */
export const paginationSchema = record({
  page: whole,
  limit: whole,
  total: whole,
  totalPages: whole,
  hasNext: z.boolean(english),
  hasPrev: z.boolean(english),
})

/** Section 2.5: a page of any resource. */
export function pageSchema<Item extends z.core.$ZodType>(item: Item) {
  return record({ data: list(item), pagination: paginationSchema })
}

/** Section 7: the body of every error response; a 422 has `errors`. */
export const errorBodySchema = record({
  code: string,
  message: string,
  statusCode: whole,
  errors: z.optional(list(record({ field: string, message: string }))),
})

/** Section 7: a 422 always names the offending fields. */
export const validationErrorSchema = z.required(errorBodySchema, { errors: true })
/** The body of an error response that may lack parts of it. */
export const partialErrorSchema = z.partial(errorBodySchema)

/** Section 7: the code of each error status. */
export const errorCodes = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  402: 'PAYMENT_REQUIRED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  422: 'VALIDATION_ERROR',
  429: 'RATE_LIMITED',
} as const

/** An assembled request as a reader takes it. */
export const openAssembledSchema = z.extend(assembledVerificationSchema, openVerificationFields)

/**
 * A verification with only the documented values: another value is an issue of the event, and for
 * the compiler a misspelt value is an error.
 */
const strictVerificationSchema: z.ZodMiniType<StrictVerification> = z.required(
  z.partial(z.extend(verificationSchema, { requirements: listOf(oneOf(requirementNames)) })),
  { id: true },
)
/** The resource of a `client.*` event with only the documented values. */
const strictClientSchema: z.ZodMiniType<StrictClient> = z.required(z.partial(clientSchema), {
  id: true,
})

/**
 * Event schemas that know only the documented values of each enum, for `createReceiver({ schemas
 * })`: a misspelt value is a type error, and a value that the service added later is in
 * `event.issues`.
 */
export const strictEventSchemas = /* @__PURE__ */ schemasOf(
  strictVerificationSchema,
  strictClientSchema,
)

/** A resource in which all fields but the id are optional. */
type Received<Value extends { readonly id: unknown }> = Fields<Partial<Value> & Pick<Value, 'id'>>

export interface AssembledVerification extends Fields<z.infer<typeof openAssembledSchema>> {}
export type ThirdParty = z.infer<typeof thirdPartySchema>
export type Pagination = z.infer<typeof paginationSchema>
export type ErrorBody = z.infer<typeof errorBodySchema>
export interface StrictVerification extends Received<z.infer<typeof verificationSchema>> {}
export interface StrictClient extends Received<z.infer<typeof clientSchema>> {}
