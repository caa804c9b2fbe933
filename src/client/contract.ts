// The endpoints of the service (section 4) as data: what each takes and returns. The client, the
// sandbox's router and its OpenAPI document all read this table.
import * as z from 'zod'
import {
  assembledVerificationSchema,
  countryCode,
  emailAddress,
  pageSchema,
  thirdPartySchema,
} from '../protocol/api-schemas.ts'
import { clientSchema, dateTime, limits, verificationSchema } from '../protocol/resources.ts'
import {
  memberTypes,
  requirementNames,
  verificationStatuses,
  verificationTypes,
} from '../protocol/values.ts'

// `guid` takes UUIDs of every version, because section 4 says only "format uuid".
const uuid = z.guid().meta({ format: 'uuid' })
const object = z.record(z.string(), z.unknown())
const page = z.int().min(limits.page.min).default(limits.page.default)
const limit = z.int().min(limits.limit.min).max(limits.limit.max).default(limits.limit.default)

/** Section 4.1. */
const createVerificationBody = z.object({
  type: z.enum(verificationTypes),
  requirements: z.array(z.enum(requirementNames)).min(1),
  clientId: uuid.optional(),
  matterId: uuid.optional(),
  subjectName: z.string().max(limits.subjectName).optional(),
  subjectEmail: z.optional(emailAddress),
  subjectPhone: z.string().max(limits.subjectPhone).optional(),
  expiresDays: z
    .int()
    .min(limits.expiresDays.min)
    .max(limits.expiresDays.max)
    .default(limits.expiresDays.default),
  config: object.optional(),
  thirdParties: z.array(thirdPartySchema).optional(),
})

/** Section 4.2. */
const listVerificationsQuery = z.object({
  type: z.enum(verificationTypes).optional(),
  status: z
    .array(z.enum(verificationStatuses))
    .min(1)
    .optional()
    .meta({ param: { style: 'form', explode: false } }),
  clientId: uuid.optional(),
  matterId: uuid.optional(),
  search: z.string().max(limits.search).optional(),
  dateFrom: z.optional(dateTime),
  dateTo: z.optional(dateTime),
  sort: z.enum(['created_at', 'updated_at', 'status']).default('created_at'),
  page,
  limit,
})

/** Section 4.4. */
const createClientBody = z.object({
  nameFirst: z.string().max(limits.clientShort).optional(),
  nameLast: z.string().max(limits.clientShort).optional(),
  businessName: z.string().max(limits.clientLong).optional(),
  email: z.optional(emailAddress.check(z.maxLength(limits.clientEmail))),
  phone: z.string().max(limits.clientPhone).optional(),
  externalId: z.string().max(limits.clientShort).optional(),
  memberType: z.enum(memberTypes).default('individual'),
  addressLine1: z.string().max(limits.clientLong).optional(),
  addressLine2: z.string().max(limits.clientLong).optional(),
  city: z.string().max(limits.clientShort).optional(),
  region: z.string().max(limits.clientShort).optional(),
  postalCode: z.string().max(limits.clientPostalCode).optional(),
  country: z._default(countryCode, 'CA'),
  metadata: object.optional(),
})

/** Section 4.5. */
const listClientsQuery = z.object({
  search: z.string().optional(),
  memberType: z.enum(memberTypes).optional(),
  active: z.enum(['true', 'false']).optional(),
  sort: z.enum(['name', 'created_at', 'request_count']).optional(),
  page,
  limit,
})

/** The six endpoints of section 4. */
export const endpoints = {
  createVerification: {
    method: 'POST',
    path: '/verifications',
    body: createVerificationBody,
    status: 201,
    response: verificationSchema,
    errors: [401, 402, 403, 422, 429],
  },
  listVerifications: {
    method: 'GET',
    path: '/verifications',
    query: listVerificationsQuery,
    status: 200,
    response: pageSchema(verificationSchema),
    errors: [401, 429],
  },
  getVerification: {
    method: 'GET',
    path: '/verifications/{id}',
    status: 200,
    response: assembledVerificationSchema,
    errors: [401, 404, 429],
  },
  createClient: {
    method: 'POST',
    path: '/clients',
    body: createClientBody,
    status: 201,
    response: clientSchema,
    errors: [401, 422, 429],
  },
  listClients: {
    method: 'GET',
    path: '/clients',
    query: listClientsQuery,
    status: 200,
    response: pageSchema(clientSchema),
    errors: [401, 429],
  },
  getClient: {
    method: 'GET',
    path: '/clients/{id}',
    status: 200,
    response: clientSchema,
    errors: [401, 404, 429],
  },
} as const

export type InputSchema = z.ZodObject

export type SchemaIssue = z.core.$ZodIssue

/** Input is never changed, so frozen objects fit. */
export type DeepReadonly<Value> = Value extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
    : Value

type BodyOf<Name extends 'createVerification' | 'createClient'> = DeepReadonly<
  (typeof endpoints)[Name]['body']['_input']
>
type QueryOf<Name extends 'listVerifications' | 'listClients'> = DeepReadonly<
  (typeof endpoints)[Name]['query']['_input']
>

/** The body of `POST /verifications` (section 4.1). */
export type CreateVerificationInput = BodyOf<'createVerification'>

/** The body of `POST /clients` (section 4.4). */
export type CreateClientInput = BodyOf<'createClient'>

/** The parameters of `GET /verifications` (section 4.2); dates may be `Date`s. */
export type VerificationQuery = Omit<
  QueryOf<'listVerifications'>,
  'status' | 'dateFrom' | 'dateTo'
> & {
  readonly status?: OneOrMore<NonNullable<QueryOf<'listVerifications'>['status']>[number]>
  readonly dateFrom?: Date | string | undefined
  readonly dateTo?: Date | string | undefined
}

/** The parameters of `GET /clients` (section 4.5). */
export type ClientQuery = Omit<QueryOf<'listClients'>, 'active'> & {
  readonly active?: boolean | 'true' | 'false' | undefined
}

type OneOrMore<Value> = Value | readonly Value[] | undefined
