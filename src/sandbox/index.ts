export { createSandbox } from './create-sandbox.ts'
export type { Listening, ListenOptions } from './listen.ts'
export type { SandboxOptions, SubscriptionOption } from './options.ts'
export type {
  DeliveryFilter,
  EngineSubscription as Subscription,
  SubscriptionInput,
} from './ports.ts'
export { type Assumption, assumptions } from './profile.ts'
export type { SandboxClock, SandboxDeliveries, SandboxFaults } from './recorded-calls.ts'
export type { Action, Sandbox } from './sandbox.ts'
export type { Attempt, Delivery, DeliverySummary } from './schemas/deliveries.ts'
export type { Fault, FaultKind } from './schemas/faults.ts'
export type { Scenario } from './schemas/scenario.ts'
export type { Snapshot } from './snapshot.ts'
