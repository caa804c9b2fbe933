export type {
  DeclaredFinality,
  Vendor,
  VendorDecision,
  VendorDelivery,
  VendorDocument,
  VendorFixture,
  VendorPath,
  VendorReading,
  VendorRequest,
  VendorRule,
} from '../protocol/vendor.ts'
export { challenges } from './challenges.ts'
export { defineVendor } from './define-vendor.ts'
export type { AddressOptions } from './jumio.ts'
export type { OndatoOptions } from './ondato.ts'
export { readVendorEvent, type VendorEvent } from './reading.ts'
export { securityEvents } from './security-events.ts'
export {
  type SenderName,
  type SenderOptions,
  senders,
} from './senders.ts'
export type { ApiCredential, VendorApi } from './vendor-api.ts'
export { vendors } from './vendors.ts'
