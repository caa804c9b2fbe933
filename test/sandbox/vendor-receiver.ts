// What a receiver of a sandbox that plays a vendor is made with, and which decisions the vendor has
// words for.
import { publicKey } from 'idv-webhooks/keys'
import type { Sandbox, VendorName } from 'idv-webhooks/sandbox'
import { type Vendor, vendors } from 'idv-webhooks/vendors'

export const vendorNames = Object.keys(vendors) as VendorName[]

const given: Readonly<Record<string, object>> = {
  jumio: { allow: ['127.0.0.0/8'], proxies: 0 },
  smileId: { partnerId: 'sandbox' },
}

/** The preset, with the API if its preset reads one. */
export function presetWith(name: VendorName, api: object | undefined): Vendor {
  const make = vendors[name] as (options?: object) => Vendor
  const plain = make(given[name])
  return plain.decisions && api ? make({ ...given[name], api }) : plain
}

/** The options by which a receiver takes what the sandbox sends. */
export function receivingFrom(
  { secret, publicKey: key }: Pick<Sandbox, 'secret' | 'publicKey'>,
  vendor: Vendor,
) {
  const { authenticity } = vendor.scheme
  const proof = key === undefined ? secret : publicKey(key)
  return { vendor, authenticity, secret: authenticity === 'ip' ? undefined : proof }
}

export const decisionNames = [
  'verification.approved',
  'verification.rejected',
  'verification.canceled',
  'verification.expired',
] as const

export type DecisionName = (typeof decisionNames)[number]

/** The actions that lead a new verification to a decision. */
export const actionsTo = {
  'verification.approved': ['start', 'submit', 'approve'],
  'verification.rejected': ['start', 'submit', 'reject'],
  'verification.canceled': ['cancel'],
  'verification.expired': ['expire'],
} as const

/** How a vendor tells of a decision: in signed bytes, by its API, or not so that it counts. */
export function toldOf(
  { fixtures, decisions = [], scheme }: Vendor,
  name: DecisionName,
): 'signed' | 'api' | undefined {
  const has = (list: Vendor['fixtures']) => list.some((one) => one.name === name)
  if (has(fixtures) && scheme.authenticity === 'signature') return 'signed'
  return decisions.some((one) => one.hints && has(one.fixtures)) ? 'api' : undefined
}
