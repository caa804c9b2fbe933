export type { CallOptions } from './api-error.ts'
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
  type RateLimitDetails,
  RateLimitedError,
  type RequestDetails,
  ServerError,
  TimeoutError,
  UnauthorizedError,
  ValidationError,
} from './api-error.ts'
export type { Fetch } from './attempt.ts'
export type { PathFamily } from './call.ts'
export type { ClientOptions } from './client-options.ts'
export type {
  ClientQuery,
  CreateClientInput,
  CreateVerificationInput,
  VerificationQuery,
} from './contract.ts'
export { type ApiClient, type Clients, createClient, type Verifications } from './create-client.ts'
export { createReconciler, type Reconciler, type ReconcilerOptions } from './create-reconciler.ts'
export { createLimiter, type Limiter, type LimiterOptions } from './limiter.ts'
export {
  type EventSubscription,
  type MigrateSubscriptionsOptions,
  type MigrationJournal,
  migrateSubscriptions,
  type PlannedSubscription,
  type SubscriptionApi,
  type SubscriptionMigration,
  type SubscriptionPair,
  type SubscriptionStep,
} from './migrate-subscriptions.ts'
export type { Page, Pager } from './pager.ts'
export {
  type FeedFailure,
  type ReconcileOptions,
  type ReconcileProgress,
  type ReconcileReport,
  reconcile,
} from './reconcile.ts'
export type { ObserveRequests, RequestObserved } from './request.ts'
export type { RequestRetryOptions } from './retry.ts'
export type { Watermark, WatermarkStore } from './watermark.ts'
