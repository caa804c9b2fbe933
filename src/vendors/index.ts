import { didit } from './didit.ts'
import { idenfy } from './idenfy.ts'
import { jumio } from './jumio.ts'
import { ondato } from './ondato.ts'
import { onfido } from './onfido.ts'
import { persona } from './persona.ts'
import { plaid } from './plaid.ts'
import { stripeIdentity } from './stripe-identity.ts'
import { sumsub } from './sumsub.ts'
import { trulioo } from './trulioo.ts'
import { veriff } from './veriff.ts'
import { vouched } from './vouched.ts'

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

/**
 * Identity vendors as data. Each was read from the vendor's public documents and tried on
 * deliveries made from them, not on the vendor's own: `triedOn` says so.
 *
 * @example createReceiver({ vendor: vendors.persona(), secret: process.env.PERSONA_SECRET })
 */
export const vendors = Object.freeze({
  didit,
  idenfy,
  jumio,
  ondato,
  onfido,
  persona,
  plaid,
  stripeIdentity,
  sumsub,
  trulioo,
  veriff,
  vouched,
})
