export { type Assumption, assumptions } from './assumptions.ts'
export type {
  SandboxClock,
  SandboxDeliveries,
  SandboxFaults,
  SandboxSubscriptions,
} from './calls.ts'
export type { Subscription } from './deliveries/subscriptions.ts'
export type { SandboxOptions } from './options.ts'
export {
  createSandbox,
  type Listening,
  type ListenOptions,
  type Sandbox,
  type VerificationAction,
} from './sandbox.ts'
export type {
  RotateOptions,
  SubscriptionInput,
  SubscriptionOption,
  SubscriptionPatch,
} from './schemas/control.ts'
export type {
  Attempt,
  DeliveryFilter,
  DeliverySummary,
  SandboxDelivery,
} from './schemas/deliveries.ts'
export type { Fault, FaultKind } from './schemas/faults.ts'
export type { Snapshot } from './schemas/snapshot.ts'
export type { VendorName } from './vendor.ts'
