// The only error class that this package throws: for what the programmer did wrong, never for
// what a sender did. What a sender did wrong is a value with one of the outcome codes.
import { nonRetryableBrand, webhookErrorBrand } from './host/brands.ts'
import { unmetNeed } from './host/runtime.ts'

/** Codes of a delivery that was refused because of what the sender sent. */
export type RejectedCode =
  | 'SIGNATURE_MISSING'
  | 'SIGNATURE_MALFORMED'
  | 'SIGNATURE_MISMATCH'
  | 'TIMESTAMP_OUTSIDE_TOLERANCE'
  | 'HEADER_AMBIGUOUS'
  | 'ADDRESS_NOT_ALLOWED'
  | 'BODY_TOO_LARGE'
  | 'BODY_INCOMPLETE'
  | 'BODY_NOT_UTF8'
  | 'BODY_NOT_JSON'
  | 'ENVELOPE_INVALID'
  | 'EVENT_INVALID'
  | 'CONTENT_TYPE_UNSUPPORTED'
  | 'ENCODING_UNSUPPORTED'

/** Codes of a delivery that failed because of us: a handler, a store, the set-up. */
export type FailedCode =
  | 'HANDLER_FAILED'
  | 'HANDLER_TIMEOUT'
  | 'BODY_CONSUMED'
  | 'STORE_UNAVAILABLE'
  | 'SECRET_UNAVAILABLE'
  | 'OVERLOADED'
  | 'DRAINING'

/** Every literal code that an outcome can carry. */
export type OutcomeCode = RejectedCode | FailedCode

/** Codes of the mistakes that throw, at `create…` or `on…` time. */
export type WebhookErrorCode =
  | 'CAPTURE_INVALID'
  | 'CLIENT_MISSING'
  | 'DATA_FILE_FAILED'
  | 'DECISION_UNREAD'
  | 'DELIVERY_NOT_VERIFIED'
  | 'EVENT_NAME_UNKNOWN'
  | 'HANDLER_INVALID'
  | 'ILLEGAL_TRANSITION'
  | 'INBOX_INVALID'
  | 'OPTION_INVALID'
  | 'REGISTERED_TOO_LATE'
  | 'RUNTIME_UNSUPPORTED'
  | 'SCHEMA_ASYNC'
  | 'SCHEMA_INVALID'
  | 'SCHEME_INVALID'
  | 'SECRET_INVALID'
  | 'STORE_DAMAGED'
  | 'STORE_FAILED'
  | 'STORE_OWNED'
  | 'STORE_SEALED'
  | 'STORE_TIMEOUT'
  | 'STORE_UNSUITABLE'
  | 'VERIFICATION_UNKNOWN'

/** Codes of process warnings that no outcome carries; a warning's own code begins with `IDV_`. */
export type WarningCode =
  | 'ANSWER_STRANGE'
  | 'CONFLICT'
  | 'CONSOLE_KEY'
  | 'CONSOLE_NOT_LOOPBACK'
  | 'DEAD_LETTER'
  | 'INBOX_MODE'
  | 'LEGACY_NAME'
  | 'LEGACY_PATH'
  | 'NO_WORKER'
  | 'OBSERVE_FAILED'
  | 'PLAIN_HTTP'
  | 'POSTGRES_LISTEN'
  | 'POSTGRES_LOG'
  | 'POSTGRES_OPEN_TRANSACTION'
  | 'RECONCILE_FAILED'
  | 'RESPOND_FAILED'
  | 'RESPOND_REFUSED'
  | 'RETRY_WAITS'
  | 'SECRET_WEAK'
  | 'SIGNALS_IN_VAIN'
  | Extract<WebhookErrorCode, 'DECISION_UNREAD'>

/** Codes with a page in docs/errors; the others are rows of docs/errors.md. */
const ownPage =
  /^(BODY_C|CONF|CONSOLE_K|DEAD|HANDLER_FA|NO_W|POSTGRES_(LO|O)|REG|RETR|RUN|SECRET|SIGNALS|SIGNATURE_MI|STORE_(D|F|O|U)|TIME)/

/** The path of a code's page, or of its row, in the installed package: causes and fixes. */
export function errorPage(code: OutcomeCode | WebhookErrorCode | WarningCode): string {
  const name = code.toLowerCase().replaceAll('_', '-')
  const page = ownPage.test(code) ? `errors/${name}.md` : `errors.md#${name}`
  return `node_modules/idv-webhooks/docs/${page}`
}

/** A mistake in the set-up or a call; `message` says how to fix it and ends with `errorPage(code)`. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError'
  readonly code: WebhookErrorCode
  /** The message without the page. */
  declare readonly reason: string

  constructor(code: WebhookErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(`${message} (${errorPage(code)})`, options)
    this.code = code
    // Not enumerable: a printed error says everything once.
    Object.defineProperties(this, {
      [webhookErrorBrand]: { value: true },
      reason: { value: message },
    })
  }
}

/** Tells a WebhookError, also one of another installed copy of this package. */
export function isWebhookError(value: unknown): value is WebhookError {
  return has(value, webhookErrorBrand)
}

/**
 * Runs `work`; the stack of a WebhookError that it throws begins where `entry` was called, since
 * that is where the mistake is. V8 keeps ten frames, and those of this package could fill them.
 */
export function blamingCaller<Result>(
  entry: (...given: never[]) => unknown,
  work: () => Result,
): Result {
  try {
    return work()
  } catch (error) {
    if (isWebhookError(error)) Error.captureStackTrace?.(error, entry)
    // Node prints no excerpt of a line with these words, so the caller's line comes first.
    throw [error, 'node-do-not-add-exception-line'][0]
  }
}

/** The message of an error as a part of another message: a WebhookError's without its page. */
export function reasonOf(error: unknown): string {
  if (isWebhookError(error)) return error.reason
  return error instanceof Error ? error.message : String(error)
}

/**
 * Thrown by a handler to say that no retry can help: with an inbox the entry goes to the dead
 * letters at once.
 *
 * @example throw new NonRetryable('unknown tenant', { cause: error })
 */
export class NonRetryable extends Error {
  override readonly name = 'NonRetryable'

  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    Object.defineProperty(this, nonRetryableBrand, { value: true })
  }
}

/** Tells a NonRetryable, also one of another installed copy of this package. */
export function isNonRetryable(value: unknown): value is NonRetryable {
  return has(value, nonRetryableBrand)
}

/** Anything may have been thrown, a revoked proxy too. */
function has(value: unknown, mark: symbol): boolean {
  try {
    return typeof value === 'object' && value !== null && mark in value
  } catch {
    return false
  }
}

// Every import path reaches this file: an older Node would fail later, at whatever it lacks.
const need = unmetNeed()
if (need !== undefined) {
  throw new WebhookError('RUNTIME_UNSUPPORTED', `idv-webhooks needs ${need}`)
}
