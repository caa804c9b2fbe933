// Answers of the user that no server can send.

interface Answer {
  readonly status: unknown
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: unknown
}

/** The part of a reply that no server can send: an echo of what a stranger sent may hold line breaks. */
export function whyNotSent({ status, headers, body }: Answer): string | undefined {
  if (!isStatus(status)) return `status ${String(status)}`
  if (typeof body !== 'string' || !areSendable(headers)) {
    return 'a header or body that no server can send'
  }
  return undefined
}

export const isStatus = (status: unknown) =>
  Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599

/** Servers take numbers and lists of values too, and throw at undefined. */
export function areSendable(headers: Readonly<Record<string, unknown>>): boolean {
  return Object.entries<unknown>(headers).every(
    ([name, value]) =>
      /^[\w!#$%&'*+.^`|~-]+$/.test(name) &&
      !ofConnection.test(name) &&
      [value].flat().every(isHeaderValue),
  )
}

/** The server's own: over HTTP/2 such a header is an error. */
const ofConnection =
  /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade|te|trailer)$/i

const isHeaderValue = (value: unknown) =>
  ['string', 'number', 'boolean'].includes(typeof value) &&
  /^[\t\x20-\x7e\x80-\xff]*$/.test(String(value))
