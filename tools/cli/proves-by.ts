// Whether a scheme verifies captured deliveries, at whatever time those were made.
import { defined } from '../../src/foundation/defined.ts'
import { isWebhookError, type Scheme, schemes, verify } from '../../src/index.ts'
import type { NamedCapture } from './capture-files.ts'
import { type NamedSecret, secretsFor } from './secrets.ts'

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
  { delivery }: NamedCapture,
  { secrets, url }: CaptureTrial,
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
export function urlsOf(url: string | undefined): readonly (string | undefined)[] {
  if (!url?.startsWith('http://')) return [url]
  return [url, url.replace('http://', 'https://')]
}
