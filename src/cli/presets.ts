// The presets of idv-webhooks/vendors on the command line: which of them verify captured deliveries,
// and their schemes by name.
import { defined } from '../foundation/defined.ts'
import { isWebhookError, type Scheme, type SchemeDefinition, schemes, verify } from '../index.ts'
import {
  readVendorEvent,
  type SenderName,
  senderDocuments,
  senders,
  type Vendor,
  vendors,
} from '../vendors/index.ts'
import type { NamedCapture } from './capture-files.ts'
import type { NamedSecret } from './secrets.ts'

/** A preset as code names it. */
export interface Preset {
  /** `vendors.onfido()`, `senders.slack()`. */
  readonly name: string
  readonly scheme: Scheme
  /** Where it was read. */
  readonly documents: readonly string[]
  readonly vendor?: Vendor
}

/** What presets are tried on. */
export interface PresetTrial {
  readonly captures: readonly NamedCapture[]
  readonly secrets: readonly NamedSecret[]
  /** The address that the sender used, if captures have another. */
  readonly url?: string | undefined
}

// Vendors without a signature need the addresses of their sender, which no capture proves.
const noAddress = { allow: ['192.0.2.1'], proxies: 0 }

function presets(): readonly Preset[] {
  const all: Preset[] = [vendorPreset('sumsub', "{ algorithm: 'sha512' }", sha512)]
  for (const [name, make] of Object.entries(vendors)) {
    all.push(vendorPreset(name, '', make(noAddress)))
  }
  for (const [name, make] of Object.entries(senders)) {
    const documents = [senderDocuments[name as SenderName]]
    all.push({ name: `senders.${name}()`, scheme: make(), documents })
  }
  return all.filter(({ scheme }) => scheme.authenticity !== 'ip')
}

const sha512 = vendors.sumsub({ algorithm: 'sha512' })

function vendorPreset(name: string, options: string, vendor: Vendor): Preset {
  const documents = vendor.documents.map(({ url, read }) => `${url} (${read})`)
  return { name: `vendors.${name}(${options})`, scheme: vendor.scheme, documents, vendor }
}

/** The presets that verify every capture; a vendor's only if every body is one of its events. */
export async function presetsFor(trial: PresetTrial): Promise<readonly Preset[]> {
  const found: Preset[] = []
  for (const preset of presets()) if (await fits(preset, trial)) found.push(preset)
  const ofVendors = found.filter(({ vendor }) => vendor)
  const fitting = ofVendors.length > 0 ? ofVendors : found
  const strong = fitting.filter(({ scheme }) => scheme.algorithm !== 'sha1')
  return strong.length > 0 ? strong : fitting
}

async function fits({ scheme, vendor }: Preset, trial: PresetTrial): Promise<boolean> {
  for (const capture of trial.captures) {
    if (vendor && eventOf(vendor, capture) === undefined) return false
    if (!(await provesBy(scheme, capture, trial))) return false
  }
  return trial.captures.length > 0
}

/** What a capture says in the words of this package, if it is an event of the vendor. */
export function eventOf(vendor: Vendor, { delivery }: NamedCapture) {
  try {
    return readVendorEvent(vendor, JSON.parse(new TextDecoder().decode(delivery.body)))
  } catch {
    return undefined
  }
}

/** Whether a scheme verifies a capture, at whatever time that was made. */
export async function provesBy(
  scheme: Scheme,
  { delivery }: NamedCapture,
  { secrets, url }: PresetTrial,
): Promise<boolean> {
  const { authenticity } = scheme
  const timeless =
    scheme.tolerance === 'none' ? scheme : schemes.define({ ...scheme, tolerance: anyTime })
  for (const one of urlsOf(url ?? delivery.url)) {
    for (const secret of secrets) {
      try {
        const given = { ...delivery, ...defined({ url: one }) }
        if ((await verify(given, { secret, scheme: timeless, authenticity })).ok) return true
      } catch (error) {
        // The secret does not fit the key of this scheme.
        if (!isWebhookError(error)) throw error
      }
    }
  }
  return false
}

/** Seconds, some thirty years. Without any tolerance a few templates could be split in two ways. */
const anyTime = 1e9

/** Behind a tunnel or proxy, https:// of the sender arrives as http://. */
export function urlsOf(url: string | undefined): readonly (string | undefined)[] {
  if (!url?.startsWith('http://')) return [url]
  return [url, url.replace('http://', 'https://')]
}

/** What `schemes.define` takes for a preset's scheme. */
export function toDefinition({ scheme }: Preset): SchemeDefinition {
  const { template: _, authenticity: __, addresses: ___, headers, header, ...rest } = scheme
  return { ...rest, header: headers ?? header }
}

/** The scheme of `vendors.<name>` or `senders.<name>`; undefined for any other text. */
export function schemeOfPreset(text: string): Scheme | undefined {
  const named = presets().find(({ name }) => name === text || name === `${text}()`)
  return named?.scheme
}
