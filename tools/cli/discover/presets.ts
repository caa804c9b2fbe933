// Finds the presets of idv-webhooks/vendors that verify captured deliveries.
import { defined } from '../../../src/foundation/defined.ts'
import {
  isWebhookError,
  type Scheme,
  type SchemeDefinition,
  schemes,
  verify,
} from '../../../src/index.ts'
import { readVendorEvent, type Vendor } from '../../../src/vendors/index.ts'
import type { NamedCapture } from '../capture-files.ts'
import { type Preset, presets } from '../schemes.ts'
import { type NamedSecret, secretsFor } from '../secrets.ts'

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
export function eventOf(vendor: Vendor, { delivery: { body } }: NamedCapture) {
  const payload = vendor.scheme.bodyJws?.unwrap({ body, now: 0 }).body ?? body
  try {
    return readVendorEvent(vendor, JSON.parse(new TextDecoder().decode(payload)))
  } catch {
    return undefined
  }
}

export function toDefinition({ scheme }: Preset): SchemeDefinition {
  const { template: _, authenticity: __, addresses: ___, headers, header, ...rest } = scheme
  return { ...rest, header: headers ?? header }
}

export interface CaptureTrial {
  readonly captures: readonly NamedCapture[]
  readonly secrets: readonly NamedSecret[]
  /** The address that the sender used, if captures have another. */
  readonly url?: string | undefined
}

/** Tells whether a scheme verifies a capture, whatever the capture's age. */
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
