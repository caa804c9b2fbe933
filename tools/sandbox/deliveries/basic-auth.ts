// The user and password of an address, as `Authorization: Basic`: a Request refuses them in it.
import { toBase64 } from '../../../src/signature/encoding.ts'

/** An address as it is requested, and the header for the user that it named. */
export interface Addressed {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/** Takes user and password out of an address; one that does not parse stays as it is. */
export function basicAuth(address: string): Addressed {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url || (url.username === '' && url.password === '')) return { url: address, headers: {} }
  const user = new TextEncoder().encode(`${decoded(url.username)}:${decoded(url.password)}`)
  url.username = ''
  url.password = ''
  return { url: url.href, headers: { authorization: `Basic ${toBase64(user)}` } }
}

/** Text with a lone % stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
