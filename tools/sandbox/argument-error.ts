// Calls are checked as the requests that do the same: what would be refused over HTTP throws here,
// naming every field that is wrong.

import type { WebhookError } from '../../src/errors.ts'
import { invalid } from '../../src/foundation/check.ts'
import { fieldErrors, type Schema } from './exchange.ts'
import { type FieldError, HttpError } from './http-error.ts'

export function argumentError(call: string, wrong: readonly FieldError[]): WebhookError {
  const words = wrong.map(({ field, message }) => `${field || 'the argument'} ${message}`)
  return invalid(`${call}: ${words.join('; ')}`)
}

/** @throws WebhookError `OPTION_INVALID` with every field that is wrong */
export function checkedArgument<Output>(
  call: string,
  schema: Schema<Output>,
  value: unknown,
): Output {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  throw argumentError(call, fieldErrors(read.error.issues))
}

/** The error of a call in place of the answer to a request; other errors stay as they are. */
export function asArgumentError(call: string, error: unknown): unknown {
  if (!(error instanceof HttpError)) return error
  const { errors } = error.body
  return errors ? argumentError(call, errors) : invalid(`${call}: ${error.message}`)
}
