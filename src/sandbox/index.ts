export type { Attempt, Delivery, DeliverySummary } from '../protocol/delivery-schemas.ts'
export type { Fault, FaultKind } from '../protocol/fault-schemas.ts'
export type { Scenario } from '../protocol/scenario.ts'
export type { Action, Sandbox } from './build-sandbox.ts'
export { createSandbox } from './create-sandbox.ts'
export type {
  DeliveryFilter,
  EngineSubscription as Subscription,
  SubscriptionInput,
} from './engine.ts'
export type { Listening, ListenOptions } from './listen.ts'
export type { SandboxOptions, SubscriptionOption } from './options.ts'
export { type Assumption, assumptions } from './profile.ts'
export type { SandboxClock, SandboxDeliveries, SandboxFaults } from './recorded.ts'
export type { Snapshot } from './snapshot.ts'
