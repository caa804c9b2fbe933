// HTTP message signatures (RFC 9421): what is signed is a text made of parts of the request, which
// the header Signature-Input names.
import type { NamedCapture } from '../capture-files.ts'

/** What such a signature signs, and in words. */
export interface MessageSignature {
  readonly base: Uint8Array
  readonly signed: string
  readonly why: string
}

/** The text that a header's signature is over; undefined where it is none of that kind. */
export function messageSignature(
  capture: NamedCapture,
  header: string,
): MessageSignature | undefined {
  const input = headerOf(capture, 'signature-input')
  const [, label = ''] = /([\w*-]+)=:/.exec(headerOf(capture, header) ?? '') ?? []
  const at = input?.indexOf(`${label}=(`) ?? -1
  if (label === '' || input === undefined || at === -1) return undefined
  const [, parameters, list = ''] =
    /^[\w*-]+=(\(([^)]*)\)(?:;[\w*-]+(?:=(?:"[^"]*"|[^;,\s]+))?)*)/.exec(input.slice(at)) ?? []
  if (parameters === undefined) return undefined
  const components = [...list.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name)
  const lines = components.map((name) => `"${name}": ${componentOf(capture, name) ?? ''}`)
  const base = [...lines, `"@signature-params": ${parameters}`].join('\n')
  return {
    base: new TextEncoder().encode(base),
    signed: [...components, '@signature-params'].join(' '),
    why: 'it is a message signature of RFC 9421: it signs parts of the request, and the body by a digest of it',
  }
}

function componentOf(capture: NamedCapture, name: string): string | undefined {
  if (!name.startsWith('@')) return headerOf(capture, name)
  const { url } = capture.delivery
  const address = url !== undefined && URL.canParse(url) ? new URL(url) : undefined
  const parts: Readonly<Record<string, string | undefined>> = {
    '@method': capture.method,
    '@authority': headerOf(capture, 'host') ?? address?.host,
    '@path': address?.pathname,
    '@query': address && (address.search || '?'),
    '@scheme': address?.protocol.replace(':', ''),
    '@target-uri': url,
    '@request-target': address && `${address.pathname}${address.search}`,
  }
  return parts[name]
}

function headerOf({ delivery }: NamedCapture, wanted: string): string | undefined {
  const values = delivery.headers
    .filter(([name]) => name === wanted)
    .map(([, value]) => value.trim())
  return values.length > 0 ? values.join(', ') : undefined
}
