export {
  type DeclaredFinality,
  defineVendor,
  readVendorEvent,
  type Vendor,
  type VendorDecision,
  type VendorDelivery,
  type VendorDocument,
  type VendorEvent,
  type VendorFixture,
  type VendorPath,
  type VendorReading,
  type VendorRule,
} from '../protocol/vendor.ts'
export type { ApiCredential, VendorApi, VendorRequest } from '../protocol/vendor-api.ts'
export { challenges } from './challenges.ts'
export type { AddressOptions } from './jumio.ts'
export type { OndatoOptions } from './ondato.ts'
export { securityEvents } from './security-events.ts'
export {
  type SenderName,
  type SenderOptions,
  senders,
} from './senders.ts'
export { vendors } from './vendors.ts'
