export type { Matching, PatternOrLegacy } from '../dispatch/patterns.ts'
export { testSecret } from '../signature/secrets.ts'
export {
  type Capture,
  type CaptureOptions,
  capture,
  type Proof,
  type ReadCapture,
  readCapture,
} from './capture.ts'
export { type Duration, type FakeClock, fakeClock } from './fake-clock.ts'
export { type Fixture, type FixtureName, type FixtureOverrides, fixture } from './fixture.ts'
export { type Recorded, type Recorder, recordHandlers } from './record-handlers.ts'
export {
  type ReplayOptions,
  type ReplayReport,
  type ReplayResult,
  type ReplayTarget,
  replay,
} from './replay.ts'
export {
  type SignedDelivery,
  type SignedDeliveryOptions,
  signedDelivery,
} from './signed-delivery.ts'
export { type Tampering, tamperings } from './tamperings.ts'
