// The inputs of the service's endpoints as types, and the named schemas of its OpenAPI document.
import * as z from 'zod'
import type { endpoints } from '../../../src/client/contract.ts'
import {
  assembledVerificationSchema,
  errorBodySchema,
  paginationSchema,
  thirdPartySchema,
  validationErrorSchema,
} from '../../../src/protocol/api-schemas.ts'
import type { EventName } from '../../../src/protocol/names.ts'
import { clientSchema, dateTime, verificationSchema } from '../../../src/protocol/resources.ts'

type Endpoints = typeof endpoints

export type VerificationInput = z.infer<Endpoints['createVerification']['body']>
export type ClientInput = z.infer<Endpoints['createClient']['body']>
export type VerificationsQuery = z.infer<Endpoints['listVerifications']['query']>
export type ClientsQuery = z.infer<Endpoints['listClients']['query']>

export function eventSchema(name: EventName) {
  return z.object({
    id: z.string(),
    event: z.literal(name),
    createdAt: dateTime,
    data: name.startsWith('client.') ? clientSchema : verificationSchema,
  })
}

const components: Readonly<Record<string, z.core.$ZodType>> = {
  Verification: verificationSchema,
  AssembledVerification: assembledVerificationSchema,
  Client: clientSchema,
  ThirdParty: thirdPartySchema,
  Pagination: paginationSchema,
  Error: errorBodySchema,
  ValidationError: validationErrorSchema,
}
const names = new Map(Object.entries(components).map(([name, schema]) => [schema, name]))

type JsonSchema = Readonly<Record<string, unknown>>

export function componentSchemas(): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries([...names].map(([schema, name]) => [name, written(schema)]))
}

/** A schema as JSON Schema; it refers to the named ones. */
export function jsonSchema(schema: z.core.$ZodType): JsonSchema {
  const name = names.get(schema)
  return name === undefined ? written(schema) : refer(name)
}

const refer = (name: string) => ({ $ref: `#/components/schemas/${name}` })

function written(root: z.core.$ZodType): JsonSchema {
  const own = names.get(root)
  const { $schema: _, ...schema } = z.toJSONSchema(root, {
    io: 'input',
    override({ zodSchema, jsonSchema: json }) {
      const name = names.get(zodSchema)
      if (name !== undefined && name !== own) {
        for (const key of Object.keys(json)) delete json[key]
        Object.assign(json, refer(name))
      }
      // A format says it better than the pattern that checks it.
      if (json.format !== undefined) delete json.pattern
    },
  })
  return schema
}

/** The query of an operation as parameters, none of which is required. */
export function queryParameters(query: z.core.$ZodType): readonly object[] {
  const { properties } = written(query) as { readonly properties: Record<string, JsonSchema> }
  return Object.entries(properties).map(([name, { param, ...schema }]) => {
    return { name, in: 'query', schema, ...(param as object | undefined) }
  })
}
