// The presets of idv-webhooks/vendors on the command line: which of them verify captured deliveries,
// and their schemes by name.
import { suggestion } from '../../src/foundation/check.ts'
import type { Scheme, SchemeDefinition } from '../../src/index.ts'
import {
  readVendorEvent,
  type SenderName,
  senderDocuments,
  senders,
  type Vendor,
  vendors,
} from '../../src/vendors/index.ts'
import type { NamedCapture } from './capture-files.ts'
import { type CaptureTrial, provesBy } from './proves-by.ts'

/** A preset as code names it. */
export interface Preset {
  /** `vendors.onfido()`, `senders.slack()`. */
  readonly name: string
  readonly scheme: Scheme
  /** Where it was read. */
  readonly documents: readonly string[]
  readonly vendor?: Vendor
}

// Vendors without a signature are known by the addresses of their sender, which no capture proves.
const { jumio: _, ondato: __, ...signing } = vendors

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

/** The schemes of all presets. */
export const presetSchemes = (): readonly Scheme[] => presets().map(({ scheme }) => scheme)

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
    if (!(await provesBy(scheme, capture, trial))) return false
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

/** Why a preset's name stands for no scheme; undefined where nothing is known of it. */
export function presetFault(text: string): string | undefined {
  const name = text.replace(/\(\)$/, '')
  if (name === 'vendors.jumio' || name === 'vendors.ondato') {
    return `${name} signs nothing, so its deliveries can be neither made nor verified here: test its receiver with your own tests (docs/testing.md)`
  }
  const names = presets().map((preset) => preset.name.replace(/\(.*/, ''))
  return suggestion(name, names) && `${name} is not a preset.${suggestion(name, names)}`
}

/** The preset `vendors.<name>` or `senders.<name>`; undefined for any other text. */
export function presetOf(text: string): Preset | undefined {
  return presets().find(({ name }) => name === text || name === `${text}()`)
}
