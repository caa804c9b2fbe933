// The presets by name.
import { alloy } from './alloy.ts'
import { cashfree } from './cashfree.ts'
import { checkr } from './checkr.ts'
import { complycube } from './complycube.ts'
import { didit } from './didit.ts'
import { idenfy } from './idenfy.ts'
import { jumio } from './jumio.ts'
import { middesk } from './middesk.ts'
import { ondato } from './ondato.ts'
import { onfido } from './onfido.ts'
import { persona } from './persona.ts'
import { plaid } from './plaid.ts'
import { prembly } from './prembly.ts'
import { smileId } from './smile-id.ts'
import { stripeIdentity } from './stripe-identity.ts'
import { sumsub } from './sumsub.ts'
import { trulioo } from './trulioo.ts'
import { truora } from './truora.ts'
import { truv } from './truv.ts'
import { veriff } from './veriff.ts'
import { vouched } from './vouched.ts'
import { yoti } from './yoti.ts'

/**
 * Identity vendors as data. Each was read from the vendor's public documents and tried on deliveries
 * made from them or on published signatures, not on real deliveries: `triedOn` says so.
 *
 * @example createReceiver({ vendor: vendors.persona(), secret: process.env.PERSONA_SECRET })
 */
export const vendors = Object.freeze({
  alloy,
  cashfree,
  checkr,
  complycube,
  didit,
  idenfy,
  jumio,
  middesk,
  ondato,
  onfido,
  persona,
  plaid,
  prembly,
  smileId,
  stripeIdentity,
  sumsub,
  trulioo,
  truora,
  truv,
  veriff,
  vouched,
  yoti,
})
