// Receivers of vendors whose decisions are behind their APIs, with all that their handlers hear.
import { generateKeyPairSync } from 'node:crypto'
import { createReceiver, createWorker, type ReceiverOptions } from 'idv-webhooks'
import { createInbox, type InboxStore } from 'idv-webhooks/inbox'
import { type Vendor, type VendorApi, vendors } from 'idv-webhooks/vendors'
import { onTestFinished } from 'vitest'
import { decisionOf } from '../../src/vendors/reading.ts'
import { secretFor, vendorsByHand } from './by-hand.ts'

export const at = Date.UTC(2026, 4, 1, 12)
const address = '203.0.113.9'
const url = 'https://app.test/webhooks'
const { privateKey: pem, publicKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
})
/** The other half of the key that signs requests to Yoti. */
export const yotiKey = publicKey

export const credentials = {
  token: 'the-token',
  key: 'the-key',
  secret: 'the-secret',
  clientId: 'me',
}

export type Api = VendorApi & typeof credentials

/** Every vendor whose API has decisions. */
export const makers: Readonly<Record<string, (api?: Api) => Vendor>> = {
  alloy: (api) => vendors.alloy(api && { api }),
  jumio: (api) => vendors.jumio({ allow: [address], proxies: 0, ...(api && { api }) }),
  middesk: (api) => vendors.middesk(api && { api }),
  onfido: (api) => vendors.onfido(api && { api }),
  plaid: (api) => vendors.plaid(api && { api }),
  smileId: (api) => vendors.smileId({ partnerId: '2000', ...(api && { api }) }),
  stripeIdentity: (api) => vendors.stripeIdentity(api && { api }),
  truora: (api) => vendors.truora(api && { api }),
  yoti: (api) => vendors.yoti(api && { api: { ...api, secret: String(pem) } }),
}

export function hintOf(vendor: Vendor) {
  const hint = vendor.fixtures.find(({ body }) => decisionOf(vendor, body)?.isHint)
  if (!hint) throw new TypeError(`${vendor.name} has no example of a hint`)
  return hint.body
}

export const recordOf = (vendor: Vendor, name: string | undefined) => {
  const decision = decisionOf(vendor, hintOf(vendor))?.decision
  return decision?.fixtures.find((one) => one.name === name)?.body
}

export function deliveryOf(vendor: Vendor, value: unknown) {
  const body = Buffer.from(JSON.stringify(value))
  const vector = vendorsByHand[vendor.name]
  const headers = vector?.headers({ body, at, id: 'msg_1', url }) ?? {}
  return { body: vector?.sends?.(body) ?? body, headers, url, address }
}

/** A receiver of a vendor, with all that its handlers heard. */
export function receiving(
  vendor: Vendor,
  options: Partial<ReceiverOptions> & { store?: InboxStore } = {},
) {
  const { store, ...more } = options
  const clock = { at }
  const now = () => new Date(clock.at)
  const { authenticity } = vendor.scheme
  const isKeyed = authenticity !== 'ip'
  const text = vendorsByHand[vendor.name]?.secret ?? ''
  const secret = isKeyed ? secretFor(vendor.scheme, text) : undefined
  const inbox = store && createInbox({ store, now, retry: { delays: [1000] } })
  if (inbox) onTestFinished(() => inbox.close())
  const given = { vendor, secret, authenticity, now, observe: () => {} }
  const receiver = createReceiver({ ...given, ...(inbox && { inbox }), ...more } as ReceiverOptions)
  const heard: string[] = []
  receiver.on('verification.*', ({ name, decidedBy }) => void heard.push(`${name} by ${decidedBy}`))
  receiver.fallback(({ name }) => void heard.push(name))
  const worker = inbox && createWorker(receiver)
  const deliver = async (value: unknown) => {
    const outcome = await receiver.receive(deliveryOf(vendor, value))
    await worker?.runOnce()
    return outcome.kind
  }
  /** Lets the next attempt be due. */
  const later = async (ms = 1000) => {
    clock.at += ms
    return await worker?.runOnce()
  }
  return { receiver, inbox, worker, heard, deliver, later, clock }
}
