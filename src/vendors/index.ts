export {
  type DeclaredFinality,
  defineVendor,
  readVendorEvent,
  type Vendor,
  type VendorDelivery,
  type VendorDocument,
  type VendorEvent,
  type VendorFixture,
  type VendorPath,
  type VendorReading,
  type VendorRule,
} from '../protocol/vendor.ts'
export { challenges } from './challenges.ts'
export type { AddressOptions } from './jumio.ts'
export type { OndatoOptions } from './ondato.ts'
export {
  type SenderName,
  type SenderOptions,
  senderDocuments,
  senders,
} from './senders.ts'
export { vendors } from './vendors.ts'
