// The resources of the service (sections 2.1 to 2.6) as schemas; types are inferred from them.
// Unknown fields are kept. Enums are the documented ones; `open` also takes later values. The
// schemas are of `zod/mini`, a quarter of zod's bundle, and fit into schemas of zod.

import * as z from 'zod/mini'
import { en } from 'zod/v4/locales'
import { memberTypes, requirementNames, verificationStatuses, verificationTypes } from './values.ts'

/** Section 4.1.2 of RFC 5321: letters, digits and these marks; of other scripts every visible letter. */
const atom = String.raw`[^\p{C}\p{Z}()<>\[\]:;@\\,."]+`
const quoted = String.raw`"(?:[^\p{C}"\\]|\\[^\p{C}])*"`
const label = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?`
const literal = String.raw`\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[\da-fA-F:.]+)\]`

const emailPattern = new RegExp(
  `^(?:${atom}(?:\\.${atom})*|${quoted})@(?:${label}(?:\\.${label})*|${literal})$`,
  'u',
)

/** Characters, of which no address has as many; of some millions the expression overflows its stack. */
const maxEmailLength = 10_000

/**
 * Tells an e-mail address in the spelling of RFC 5321 or, internationalized, RFC 6531. The service
 * documents no other rule than "format email".
 */
export function isEmailAddress(text: string): boolean {
  return text.length <= maxEmailLength && emailPattern.test(text)
}

/** Section 8: lengths in characters, counts and days. */
export const limits = {
  subjectName: 128,
  subjectPhone: 32,
  thirdPartyName: 128,
  thirdPartyOrg: 128,
  clientShort: 64,
  clientLong: 128,
  clientEmail: 255,
  clientPhone: 32,
  clientPostalCode: 16,
  country: 2,
  expiresDays: { min: 1, max: 90, default: 7 },
  page: { min: 1, default: 1 },
  limit: { min: 1, max: 100, default: 20 },
  search: 100,
  ratePerMinute: 200,
} as const

/** zod's own messages: `zod/mini` has none unless the application sets them for the whole process. */
const english = { error: /* @__PURE__ */ en().localeError }

/** A documented value, or a value that the service adds later; keeps completion in editors. */
export type Open<Value extends string> = Value | (string & Record<never, never>)

/** Takes every string, typed with the documented values first. */
function open<const Values extends readonly string[]>(
  _values: Values,
): z.ZodMiniType<Open<Values[number]>, Open<Values[number]>> {
  return z.string(english)
}

/** Unknown fields are kept. */
const record = <Shape extends z.core.$ZodLooseShape>(shape: Shape) => z.looseObject(shape, english)
const list = <Item extends z.core.$ZodType>(item: Item) => z.array(item, english)
const oneOf = <const Values extends readonly string[]>(values: Values) => z.enum(values, english)
const string = z.string(english)
const text = (most: number) => string.check(z.maxLength(most, english))
const nullableText = (most: number) => z.nullable(text(most))
const whole = z.int(english)

/** ISO 3166-1 alpha-2 (section 4.4); which codes are assigned, and their case, is not checked. */
export const countryCode = string.check(
  z.regex(/^[A-Za-z]{2}$/, 'must be an ISO 3166-1 alpha-2 code: two letters'),
)

/** An ISO 8601 date-time with any offset (section 2). */
export const dateTime = z.iso.datetime({ offset: true, ...english })

/** Sections 2.3, 4.1 and 4.4: "format email". */
export const emailAddress = string.check(
  z.refine(isEmailAddress, 'must be an e-mail address'),
  z.meta({ format: 'email' }),
)

/** Far more than a list of documented values ever has. */
const longestList = 1_000

/** A list that is too long is one fault, not a fault for each item. */
function listOf<Item extends z.ZodMiniType>(item: Item) {
  return z.pipe(list(z.unknown()).check(z.maxLength(longestList, english)), list(item))
}

const object = z.record(z.string(), z.unknown(), english)
const things = list(z.unknown())

/** Section 2.1: a verification request, exactly as documented. */
export const verificationSchema = record({
  id: string,
  orgId: string,
  type: oneOf(verificationTypes),
  status: oneOf(verificationStatuses),
  requirements: list(oneOf(requirementNames)),
  currentStep: z.nullable(string),
  subjectName: nullableText(limits.subjectName),
  subjectEmail: z.nullable(string),
  subjectPhone: nullableText(limits.subjectPhone),
  requestorName: z.nullable(string),
  requestorEmail: z.nullable(string),
  requestorCompany: z.nullable(string),
  clientId: z.nullable(string),
  matterId: z.nullable(string),
  expiresDays: whole.check(
    z.minimum(limits.expiresDays.min, english),
    z.maximum(limits.expiresDays.max, english),
  ),
  expiresAt: dateTime,
  submittedAt: z.nullable(dateTime),
  accessToken: string,
  createdAt: dateTime,
  updatedAt: dateTime,
})

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

/** Section 2.4: a client record, exactly as documented. */
export const clientSchema = record({
  id: string,
  orgId: string,
  nameFirst: nullableText(limits.clientShort),
  nameLast: nullableText(limits.clientShort),
  businessName: nullableText(limits.clientLong),
  email: nullableText(limits.clientEmail),
  phone: nullableText(limits.clientPhone),
  externalId: nullableText(limits.clientShort),
  memberType: oneOf(memberTypes),
  addressLine1: nullableText(limits.clientLong),
  addressLine2: nullableText(limits.clientLong),
  city: nullableText(limits.clientShort),
  region: nullableText(limits.clientShort),
  postalCode: nullableText(limits.clientPostalCode),
  country: z.nullable(string.check(z.length(limits.country, english))),
  metadata: z.nullable(object),
  active: z.boolean(english),
  requestCount: whole,
  createdAt: dateTime,
  updatedAt: dateTime,
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

const openVerificationFields = {
  type: open(verificationTypes),
  status: open(verificationStatuses),
  requirements: listOf(open(requirementNames)),
}

/** A verification as a reader takes it: unknown enum values pass, typed. */
export const openVerificationSchema = z.extend(verificationSchema, openVerificationFields)
/** An assembled request as a reader takes it. */
export const openAssembledSchema = z.extend(assembledVerificationSchema, openVerificationFields)
/** A client record as a reader takes it. */
export const openClientSchema = z.extend(clientSchema, { memberType: open(memberTypes) })

/** The resource of a `verification.*` event: only `id` is sure to be there. */
export const receivedVerificationSchema = z.required(z.partial(openVerificationSchema), {
  id: true,
})
/** The resource of a `client.*` event: only `id` is sure to be there. */
export const receivedClientSchema = z.required(z.partial(openClientSchema), { id: true })

/**
 * A verification with only the documented values: another value is an issue of the event, and for
 * the compiler a misspelt value is an error.
 */
export const strictVerificationSchema: z.ZodMiniType<StrictVerification> = z.required(
  z.partial(z.extend(verificationSchema, { requirements: listOf(oneOf(requirementNames)) })),
  { id: true },
)
/** The resource of a `client.*` event with only the documented values. */
export const strictClientSchema: z.ZodMiniType<StrictClient> = z.required(z.partial(clientSchema), {
  id: true,
})

/** Without the index signature of a loose object, so that a misspelt field is a type error. */
type Fields<Value> = {
  [Key in keyof Value as string extends Key ? never : Key]: Value[Key]
}

/** A resource in which all fields but the id are optional. */
type Received<Value extends { readonly id: unknown }> = Fields<Partial<Value> & Pick<Value, 'id'>>

export type VerificationType = (typeof verificationTypes)[number]
export type VerificationStatus = (typeof verificationStatuses)[number]
export type Requirement = (typeof requirementNames)[number]
export type MemberType = (typeof memberTypes)[number]
export interface Verification extends Fields<z.infer<typeof openVerificationSchema>> {}
export interface AssembledVerification extends Fields<z.infer<typeof openAssembledSchema>> {}
export type ThirdParty = z.infer<typeof thirdPartySchema>
export interface Client extends Fields<z.infer<typeof openClientSchema>> {}
export type Pagination = z.infer<typeof paginationSchema>
export type ErrorBody = z.infer<typeof errorBodySchema>
export interface ReceivedVerification extends Fields<z.infer<typeof receivedVerificationSchema>> {}
export interface ReceivedClient extends Fields<z.infer<typeof receivedClientSchema>> {}
export interface StrictVerification extends Received<z.infer<typeof verificationSchema>> {}
export interface StrictClient extends Received<z.infer<typeof clientSchema>> {}
