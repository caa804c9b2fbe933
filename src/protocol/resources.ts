// The resources that events carry (sections 2.1 and 2.4) as schemas; types are inferred from them.
// Unknown fields are kept. Enums are the documented ones; `open` also takes later values. The
// schemas are of `zod/mini`, a quarter of zod's bundle, and fit into schemas of zod.

import * as z from 'zod/mini'
import { en } from 'zod/v4/locales'
import { memberTypes, requirementNames, verificationStatuses, verificationTypes } from './values.ts'

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

let messages: ReturnType<typeof en> | undefined

/** zod's own messages: `zod/mini` has none unless the application sets them for the whole process. */
export const english = {
  error: (issue: z.core.$ZodRawIssue) => {
    messages ??= en()
    return messages.localeError(issue)
  },
}

/** A documented value, or a value that the service adds later; keeps completion in editors. */
export type Open<Value extends string> = Value | (string & Record<never, never>)

/** Takes every string, typed with the documented values first. */
function open<const Values extends readonly string[]>(
  _values: Values,
): z.ZodMiniType<Open<Values[number]>, Open<Values[number]>> {
  return z.string(english)
}

/** Unknown fields are kept. */
export const record = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.looseObject(shape, english)
export const list = <Item extends z.core.$ZodType>(item: Item) => z.array(item, english)
export const oneOf = <const Values extends readonly string[]>(values: Values) =>
  z.enum(values, english)
export const string = z.string(english)
export const text = (most: number) => string.check(z.maxLength(most, english))
const nullableText = (most: number) => z.nullable(text(most))
export const whole = z.int(english)

/** An ISO 8601 date-time with any offset (section 2). */
export const dateTime = z.iso.datetime({ offset: true, ...english })

/** Far more than a list of documented values ever has. */
const longestList = 1_000

/** A list that is too long is one fault, not a fault for each item. */
export function listOf<Item extends z.ZodMiniType>(item: Item) {
  return z.pipe(list(z.unknown()).check(z.maxLength(longestList, english)), list(item))
}

export const object = z.record(z.string(), z.unknown(), english)
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

export const openVerificationFields = {
  type: open(verificationTypes),
  status: open(verificationStatuses),
  requirements: listOf(open(requirementNames)),
}

/** A verification as a reader takes it: unknown enum values pass, typed. */
export const openVerificationSchema = z.extend(verificationSchema, openVerificationFields)
/** A client record as a reader takes it. */
export const openClientSchema = z.extend(clientSchema, { memberType: open(memberTypes) })

/** The resource of a `verification.*` event: only `id` is sure to be there. */
export const receivedVerificationSchema = z.required(z.partial(openVerificationSchema), {
  id: true,
})
/** The resource of a `client.*` event: only `id` is sure to be there. */
export const receivedClientSchema = z.required(z.partial(openClientSchema), { id: true })

/** Without the index signature of a loose object, so that a misspelt field is a type error. */
export type Fields<Value> = {
  [Key in keyof Value as string extends Key ? never : Key]: Value[Key]
}

export type VerificationType = (typeof verificationTypes)[number]
export type VerificationStatus = (typeof verificationStatuses)[number]
export type Requirement = (typeof requirementNames)[number]
export type MemberType = (typeof memberTypes)[number]
export interface Verification extends Fields<z.infer<typeof openVerificationSchema>> {}
export interface Client extends Fields<z.infer<typeof openClientSchema>> {}
export interface ReceivedVerification extends Fields<z.infer<typeof receivedVerificationSchema>> {}
export interface ReceivedClient extends Fields<z.infer<typeof receivedClientSchema>> {}
