// Decides whether a failed fetch can have reached the service. Each runtime has its own error
// codes; without proof the request counts as sent.

/** System calls that precede the first byte of a request; a later one proves nothing. */
const beforeSending = new Set(['connect', 'getaddrinfo'])

/**
 * Codes without a system call: the connection was never established. `ConnectionRefused` and
 * `client error (Connect)` of other runtimes prove nothing: when a kept connection breaks, those
 * runtimes send a POST again by themselves, and the code shows the refusal of that second request.
 */
const neverConnected = new Set(['UND_ERR_CONNECT_TIMEOUT', 'ECONNREFUSED'])

/**
 * Failures of our check of the service's certificate, which precedes the request. Other TLS faults
 * (`ERR_SSL_…`) may come later: TLS 1.3 reports some after the request was sent.
 */
const refusedCertificate = new Set([
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_REJECTED',
  'CERT_UNTRUSTED',
  'CERT_CHAIN_TOO_LONG',
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
])

type ErrorCause = { readonly [Key in 'code' | 'syscall' | 'errors']?: unknown }

/** Tells whether the error proves that no byte of the request was sent. */
export function provesUnsent(error: unknown): boolean {
  for (const one of causesOf(error)) {
    const { code, syscall, errors } = one as ErrorCause
    if (Array.isArray(errors) && errors.length > 0) return errors.every(provesUnsent)
    if (typeof syscall === 'string') return beforeSending.has(syscall)
    if (typeof code === 'string' && (neverConnected.has(code) || refusedCertificate.has(code))) {
      return true
    }
  }
  return false
}

/** The first code in a chain of causes, for a message. */
export function faultCode(error: unknown): string | undefined {
  for (const one of causesOf(error)) {
    const { code } = one as { readonly code?: unknown }
    if (typeof code === 'string') return code
  }
  return undefined
}

/** A copy without other properties: an injected fetch may attach its request, and so the key. */
export function showable(error: unknown, redact: (text: string) => string): Error {
  const { name, message } = (typeof error === 'object' ? (error ?? {}) : {}) as {
    readonly [Key in 'name' | 'message']?: unknown
  }
  const copy = new Error(redact(String(message ?? error)))
  copy.name = redact(String(name ?? 'Error'))
  if (copy.stack) copy.stack = `${copy.name}: ${copy.message}`
  const code = faultCode(error)
  return Object.assign(copy, code !== undefined && { code: redact(code) })
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
