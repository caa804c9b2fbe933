export type { Delivery, HeaderList, HeadersInput, VerifiedDelivery } from './delivery.ts'
export type {
  Around,
  Context,
  Handler,
  HandlerFailure,
  HandlerOptions,
} from './dispatch/handler.ts'
export {
  errorPage,
  type FailedCode,
  isWebhookError,
  NonRetryable,
  type OutcomeCode,
  type RejectedCode,
  type WarningCode,
  WebhookError,
  type WebhookErrorCode,
} from './errors.ts'
export type { Clock } from './foundation/clock.ts'
export type { SettledAs } from './inbox/work.ts'
export type { BodyFault, BodyReading, Incoming } from './intake/intake.ts'
export type {
  AttemptObserved,
  Observation,
  Observe,
  OperatedObserved,
  OutcomeObserved,
  SettledObserved,
  SilenceObserved,
  StoreObserved,
} from './observe/observe.ts'
export { type LogOptions, logOutcomes } from './observe/observers.ts'
export type { ClientOption, ReceiverOptions } from './options.ts'
export type { Outcome, OutcomeKind } from './outcome/outcome.ts'
export {
  type HandshakeRequest,
  type Reply,
  type ReplyChange,
  type Responder,
  type RespondOption,
  toReply,
} from './outcome/reply.ts'
export { type Parsed, type ParseOptions, parse } from './parse.ts'
export type { AssembledVerification } from './protocol/api-schemas.ts'
export type {
  DecidedBy,
  Entity,
  EventMap,
  EventOf,
  EventSource,
  Issue,
  KnownEvent,
  ReversalEvent,
  Superseded,
  UnknownEvent,
  WebhookEvent,
} from './protocol/events.ts'
export type { DecisionName, EventName, LegacyName } from './protocol/names.ts'
export type {
  Client,
  ReceivedClient,
  ReceivedVerification,
  Requirement,
  Verification,
  VerificationStatus,
} from './protocol/resources.ts'
export {
  type Authenticity,
  type Grammar,
  type Scheme,
  type SchemeDefinition,
  type SchemeOptions,
  schemes,
} from './protocol/scheme.ts'
export { createReceiver, type Receiver } from './receiver.ts'
export type { Diagnosis } from './signature/diagnose.ts'
export type { Refusal } from './signature/refused.ts'
export type {
  AsymmetricKey,
  KeySource,
  Secret,
  SecretInput,
  SecretOption,
} from './signature/secrets.ts'
export { type SignOptions, sign } from './signature/signature.ts'
export { type VerifyOptions, type VerifyResult, verify } from './verify.ts'
export type { RunOnceOptions, RunOnceReport, WorkerOptions } from './worker/options.ts'
export { createWorker, type Worker } from './worker/worker.ts'
