// The same checks for a call as for the request that does the same: what a request would be refused
// for throws here, with every field that is wrong.
import { WebhookError } from '../errors.ts'
import { fieldErrors, type Schema } from './exchange.ts'
import { type FieldError, HttpError } from './http-error.ts'

/** The error of a call whose arguments are none. */
export function misuse(what: string, wrong: readonly FieldError[]): WebhookError {
  const words = wrong.map(({ field, message }) => `${field || 'it'} ${message}`)
  return new WebhookError('OPTION_INVALID', `${what}: ${words.join('; ')}`)
}

/**
 * Checks the arguments of a call as a request's body is checked.
 *
 * @throws WebhookError `OPTION_INVALID` with every field that is wrong.
 */
export function checkedArgument<Output>(
  what: string,
  schema: Schema<Output>,
  value: unknown,
): Output {
  const read = schema.safeParse(value)
  if (read.success) return read.data
  throw misuse(what, fieldErrors(read.error.issues))
}

/** What a call throws where a request would have been refused. */
export function asMisuse(what: string, error: unknown): unknown {
  if (!(error instanceof HttpError)) return error
  const { errors } = error.body
  return errors
    ? misuse(what, errors)
    : new WebhookError('OPTION_INVALID', `${what}: ${error.message}`)
}
