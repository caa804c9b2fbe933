export type { PathFamily } from './address.ts'
export {
  ApiError,
  BadRequestError,
  type EndpointName,
  type FieldError,
  ForbiddenError,
  isApiError,
  MalformedResponseError,
  NetworkError,
  NotFoundError,
  OutcomeUnknownError,
  PaymentRequiredError,
  type RateFacts,
  RateLimitedError,
  type RequestFacts,
  ServerError,
  TimeoutError,
  UnauthorizedError,
  ValidationError,
} from './api-error.ts'
export type { Fetch } from './attempt.ts'
export type { ClientOptions } from './client-options.ts'
export { type ApiClient, type Clients, createClient, type Verifications } from './create-client.ts'
export type {
  ClientQuery,
  CreateClientInput,
  CreateVerificationInput,
  VerificationQuery,
} from './inputs.ts'
export { createLimiter, type Limiter, type LimiterOptions } from './limiter.ts'
export type { ObserveRequests, RequestObserved } from './observe-requests.ts'
export type { Page, Pager } from './pager.ts'
export type { CallOptions } from './request.ts'
export type { RetryOptions } from './retry.ts'
