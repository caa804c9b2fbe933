// The resources of the service (sections 2.1 to 2.6) as schemas; types are inferred from them.
// Unknown fields are kept. Enums are the documented ones; `open` also takes later additions.
import * as z from 'zod'
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
 * Whether a text is an e-mail address as RFC 5321 and, internationalized, RFC 6531 spell it. The
 * service documents no other rule than "format email".
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

/** A documented value, or one that the service adds later; keeps completion in editors. */
export type Open<Value extends string> = Value | (string & Record<never, never>)

/** Takes every string, typed with the documented values first. */
function open<const Values extends readonly string[]>(
  _values: Values,
): z.ZodType<Open<Values[number]>, Open<Values[number]>> {
  return z.string()
}

/** ISO 3166-1 alpha-2 (section 4.4); which codes are assigned, and their case, is not checked. */
export const countryCode = z
  .string()
  .regex(/^[A-Za-z]{2}$/, 'must be an ISO 3166-1 alpha-2 code: two letters')

/** An ISO 8601 date-time with any offset (section 2). */
export const dateTime = z.iso.datetime({ offset: true })

/** Sections 2.3, 4.1 and 4.4: "format email". */
export const emailAddress = z
  .string()
  .refine(isEmailAddress, 'must be an e-mail address')
  .meta({ format: 'email' })

/** Far more than a list of documented values ever has. */
const longestList = 1_000

/** A list that is too long is one fault, not one for each of its items. */
function listOf<Item extends z.ZodType>(item: Item) {
  return z.array(z.unknown()).max(longestList).pipe(z.array(item))
}

const object = z.record(z.string(), z.unknown())

/** Section 2.1: a verification request, exactly as documented. */
export const verificationSchema = z.looseObject({
  id: z.string(),
  orgId: z.string(),
  type: z.enum(verificationTypes),
  status: z.enum(verificationStatuses),
  requirements: z.array(z.enum(requirementNames)),
  currentStep: z.string().nullable(),
  subjectName: z.string().max(limits.subjectName).nullable(),
  subjectEmail: z.string().nullable(),
  subjectPhone: z.string().max(limits.subjectPhone).nullable(),
  requestorName: z.string().nullable(),
  requestorEmail: z.string().nullable(),
  requestorCompany: z.string().nullable(),
  clientId: z.string().nullable(),
  matterId: z.string().nullable(),
  expiresDays: z.int().min(limits.expiresDays.min).max(limits.expiresDays.max),
  expiresAt: dateTime,
  submittedAt: dateTime.nullable(),
  accessToken: z.string(),
  createdAt: dateTime,
  updatedAt: dateTime,
})

/** Section 2.2: what the single-request read adds to a verification. */
const assembledFields = {
  score: z.number().min(0).max(100).nullable(),
  person: object.nullable(),
  documents: z.array(z.unknown()),
  biometric: object.nullable(),
  location: object.nullable(),
  contact: object.nullable(),
  business: object.nullable(),
  financial: object.nullable(),
  pep: object.nullable(),
  steps: z.array(z.unknown()),
}

/** Section 2.2: an assembled request, exactly as documented. */
export const assembledVerificationSchema = verificationSchema.extend(assembledFields)

/** Section 2.3: a party that gets the result on approval. */
export const thirdPartySchema = z.looseObject({
  name: z.string().max(limits.thirdPartyName),
  email: emailAddress,
  org: z.string().max(limits.thirdPartyOrg).optional(),
  sharedFields: z.array(z.string()).optional(),
})

/** Section 2.4: a client record, exactly as documented. */
export const clientSchema = z.looseObject({
  id: z.string(),
  orgId: z.string(),
  nameFirst: z.string().max(limits.clientShort).nullable(),
  nameLast: z.string().max(limits.clientShort).nullable(),
  businessName: z.string().max(limits.clientLong).nullable(),
  email: z.string().max(limits.clientEmail).nullable(),
  phone: z.string().max(limits.clientPhone).nullable(),
  externalId: z.string().max(limits.clientShort).nullable(),
  memberType: z.enum(memberTypes),
  addressLine1: z.string().max(limits.clientLong).nullable(),
  addressLine2: z.string().max(limits.clientLong).nullable(),
  city: z.string().max(limits.clientShort).nullable(),
  region: z.string().max(limits.clientShort).nullable(),
  postalCode: z.string().max(limits.clientPostalCode).nullable(),
  country: z.string().length(limits.country).nullable(),
  metadata: object.nullable(),
  active: z.boolean(),
  requestCount: z.int(),
  createdAt: dateTime,
  updatedAt: dateTime,
})

/** Section 2.5: where a page stands in its list. */
export const paginationSchema = z.looseObject({
  page: z.int(),
  limit: z.int(),
  total: z.int(),
  totalPages: z.int(),
  hasNext: z.boolean(),
  hasPrev: z.boolean(),
})

/** Section 2.5: a page of any resource. */
export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ data: z.array(item), pagination: paginationSchema })
}

/** Section 7: the body of every error response; a 422 has `errors`. */
export const errorBodySchema = z.looseObject({
  code: z.string(),
  message: z.string(),
  statusCode: z.int(),
  errors: z.array(z.looseObject({ field: z.string(), message: z.string() })).optional(),
})

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

/** A verification as a reader takes it: unknown enum values are let through, typed. */
export const openVerificationSchema = verificationSchema.extend(openVerificationFields)
/** An assembled request as a reader takes it. */
export const openAssembledSchema = assembledVerificationSchema.extend(openVerificationFields)
/** A client record as a reader takes it. */
export const openClientSchema = clientSchema.extend({ memberType: open(memberTypes) })

/** The resource of a `verification.*` event: only `id` is sure to be there. */
export const receivedVerificationSchema = openVerificationSchema.partial().required({ id: true })
/** The resource of a `client.*` event: only `id` is sure to be there. */
export const receivedClientSchema = openClientSchema.partial().required({ id: true })

/**
 * The same with the documented values alone: another value is an issue of the event, and for the
 * compiler a misspelt value is an error.
 */
export const strictVerificationSchema: z.ZodType<StrictVerification> = verificationSchema
  .extend({ requirements: listOf(z.enum(requirementNames)) })
  .partial()
  .required({ id: true })
/** The same for the resource of a `client.*` event. */
export const strictClientSchema: z.ZodType<StrictClient> = clientSchema
  .partial()
  .required({ id: true })

/** Without the index signature of a loose object, so that a misspelt field is a type error. */
type Fields<Value> = {
  [Key in keyof Value as string extends Key ? never : Key]: Value[Key]
}

/** The same with all but the id optional. */
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
