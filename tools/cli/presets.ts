// The presets of idv-webhooks/vendors on the command line: which of them verify captured deliveries,
// and their schemes by name.
import { suggestion } from '../../src/foundation/check.ts'
import { defined } from '../../src/foundation/defined.ts'
import {
  isWebhookError,
  type Scheme,
  type SchemeDefinition,
  schemes,
  verify,
} from '../../src/index.ts'
import {
  readVendorEvent,
  type SenderName,
  senderDocuments,
  senders,
  type Vendor,
  vendors,
} from '../../src/vendors/index.ts'
import type { NamedCapture } from './capture-files.ts'
import { type NamedSecret, secretsFor } from './secrets.ts'

/** A preset as code names it. */
export interface Preset {
  /** `vendors.onfido()`, `senders.slack()`. */
  readonly name: string
  readonly scheme: Scheme
  /** Where it was read. */
  readonly documents: readonly string[]
  readonly vendor?: Vendor
}

// No capture proves the address of a sender, or a body that is not signed.
const { jumio: _, smileId: __, ...signing } = vendors

function presets(): readonly Preset[] {
  const all: Preset[] = [vendorPreset('sumsub', "{ algorithm: 'sha512' }", sha512)]
  for (const [name, make] of Object.entries(signing)) all.push(vendorPreset(name, '', make()))
  for (const [name, make] of Object.entries(senders)) {
    const documents = [senderDocuments[name as SenderName]]
    all.push({ name: `senders.${name}()`, scheme: make(), documents })
  }
  return all
}

const sha512 = vendors.sumsub({ algorithm: 'sha512' })

function vendorPreset(name: string, options: string, vendor: Vendor): Preset {
  const documents = vendor.documents.map(({ url, read }) => `${url} (${read})`)
  return { name: `vendors.${name}(${options})`, scheme: vendor.scheme, documents, vendor }
}

/** The presets that verify every capture; a vendor's only if every body is one of its events. */
export async function presetsFor(trial: CaptureTrial): Promise<readonly Preset[]> {
  const found: Preset[] = []
  for (const preset of presets()) if (await fits(preset, trial)) found.push(preset)
  const ofVendors = found.filter(({ vendor }) => vendor)
  const fitting = ofVendors.length > 0 ? ofVendors : found
  const strong = fitting.filter(({ scheme }) => scheme.algorithm !== 'sha1')
  return strong.length > 0 ? strong : fitting
}

async function fits({ scheme, vendor }: Preset, trial: CaptureTrial): Promise<boolean> {
  for (const capture of trial.captures) {
    if (vendor && eventOf(vendor, capture) === undefined) return false
    if (!(await provesBy(scheme, capture.delivery, trial))) return false
  }
  return trial.captures.length > 0
}

/** Parses a capture into an event of this package, if it is an event of the vendor. */
export function eventOf(vendor: Vendor, { delivery }: NamedCapture) {
  try {
    return readVendorEvent(vendor, JSON.parse(new TextDecoder().decode(delivery.body)))
  } catch {
    return undefined
  }
}

/** Returns the definition of a preset's scheme, as `schemes.define` accepts it. */
export function toDefinition({ scheme }: Preset): SchemeDefinition {
  const { template: _, authenticity: __, addresses: ___, headers, header, ...rest } = scheme
  return { ...rest, header: headers ?? header }
}

/** Explains why the name of a preset gives no scheme; undefined for an unknown name. */
export function presetFault(text: string): string | undefined {
  const name = text.replace(/\(\)$/, '')
  if (name === 'vendors.jumio' || name === 'vendors.smileId') {
    return `${name} does not sign the body, so its deliveries can be neither made nor verified here: test its receiver with your own tests (docs/testing.md)`
  }
  const names = presets().map((preset) => preset.name.replace(/\(.*/, ''))
  return suggestion(name, names) && `${name} is not a preset.${suggestion(name, names)}`
}

/** The preset `vendors.<name>` or `senders.<name>`; undefined for any other text. */
export function presetOf(text: string): Preset | undefined {
  return presets().find(({ name }) => name === text || name === `${text}()`)
}

/** A capture on which schemes are tried. */
export interface CaptureTrial {
  readonly captures: readonly NamedCapture[]
  readonly secrets: readonly NamedSecret[]
  /** The address that the sender used, if captures have another. */
  readonly url?: string | undefined
}

/** Whether a scheme verifies a capture, at whatever time that was made. */
export async function provesBy(
  scheme: Scheme,
  delivery: NamedCapture['delivery'],
  { secrets, url }: Pick<CaptureTrial, 'secrets' | 'url'>,
): Promise<boolean> {
  const { authenticity } = scheme
  const timeless =
    scheme.tolerance === 'none' ? scheme : schemes.define({ ...scheme, tolerance: anyTime })
  for (const address of urlsOf(url ?? delivery.url)) {
    for (const one of secrets) {
      try {
        const secret = secretsFor(scheme, [one])
        const given = { ...delivery, ...defined({ url: address }) }
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
function urlsOf(url: string | undefined): readonly (string | undefined)[] {
  if (!url?.startsWith('http://')) return [url]
  return [url, url.replace('http://', 'https://')]
}
