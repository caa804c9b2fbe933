// The named schemas of the API's OpenAPI document, and the two that it alone needs.
import * as z from 'zod'
import type { EventName } from '../../../src/protocol/names.ts'
import {
  assembledVerificationSchema,
  clientSchema,
  dateTime,
  errorBodySchema,
  paginationSchema,
  thirdPartySchema,
  verificationSchema,
} from '../../../src/protocol/resources.ts'

/** Section 7: a 422 always names the offending fields. */
export const validationErrorSchema = errorBodySchema.required({ errors: true })

/** The schema of the delivery for an event. */
export function eventSchema(name: EventName) {
  return z.object({
    id: z.string(),
    event: z.literal(name),
    createdAt: dateTime,
    data: name.startsWith('client.') ? clientSchema : verificationSchema,
  })
}

export const apiComponents = {
  Verification: verificationSchema,
  AssembledVerification: assembledVerificationSchema,
  Client: clientSchema,
  ThirdParty: thirdPartySchema,
  Pagination: paginationSchema,
  Error: errorBodySchema,
  ValidationError: validationErrorSchema,
}
