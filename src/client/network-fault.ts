// What a failed fetch proves: whether the request can have reached the service. Runtimes say it by
// different codes; what none of them proves counts as sent.

/** Codes of connections that never stood, in Node and Bun. */
const neverConnected = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'EAI_NODATA',
  'EAI_NONAME',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
  'FailedToOpenSocket',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
])

/** TLS names its faults by prefixes; all of them come before the first byte of a request. */
const handshake = /^(CERT_|ERR_TLS_CERT_|ERR_SSL_|HOSTNAME_MISMATCH)/

/** Whether the error proves that nothing of the request was sent. */
export function provesUnsent(error: unknown): boolean {
  for (const one of causesOf(error)) {
    const { code, errors } = one as { readonly code?: unknown; readonly errors?: unknown }
    if (Array.isArray(errors) && errors.length > 0) return errors.every(provesUnsent)
    if (typeof code === 'string' && (neverConnected.has(code) || handshake.test(code))) return true
  }
  return false
}

/** The first code in a chain of causes, to tell people. */
export function faultCode(error: unknown): string | undefined {
  for (const one of causesOf(error)) {
    const { code } = one as { readonly code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}

/** A copy that can be shown: an injected fetch may hang its request, and so the key, on an error. */
export function showable(error: unknown, redact: (text: string) => string): Error {
  const { name, message, code } = (typeof error === 'object' ? (error ?? {}) : {}) as {
    readonly [Key in 'name' | 'message' | 'code']?: unknown
  }
  const copy = new Error(redact(String(message ?? error)))
  copy.name = String(name ?? 'Error')
  if (copy.stack) copy.stack = redact(`${copy.name}: ${copy.message}`)
  const known = typeof code === 'string' ? code : faultCode(error)
  return Object.assign(copy, known !== undefined && { code: known })
}

function causesOf(error: unknown): object[] {
  const chain: object[] = []
  let one = error
  while (typeof one === 'object' && one !== null && chain.length < 5) {
    chain.push(one)
    one = (one as { readonly cause?: unknown }).cause
  }
  return chain
}
