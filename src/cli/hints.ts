// From an answer to the likely reason and the next step, for whoever has just sent something.
import type { Answer, AnswerOutcome } from './deliver.ts'

const byCode: Readonly<Record<string, string>> = {
  SIGNATURE_MISSING:
    'no signature reached the receiver: a proxy drops the header on the way, or the receiver looks in another one (give both sides the same scheme)',
  SIGNATURE_MALFORMED:
    'the header was found but not understood: give both sides the same scheme (see discover)',
  SIGNATURE_MISMATCH:
    'both sides need the same secret, and the receiver the exact bytes: try doctor --to',
  TIMESTAMP_OUTSIDE_TOLERANCE:
    'the signed time is too old or too new: sign again (replay --resign), and check both clocks',
  BODY_CONSUMED: 'a body parser ran before the receiver: mount the receiver above it',
  BODY_TOO_LARGE: 'raise maxBytes of the receiver, or the limit of what stands before it',
  CONTENT_TYPE_UNSUPPORTED: 'send application/json',
  ENCODING_UNSUPPORTED: 'send the body uncompressed',
  HANDLER_FAILED: 'a handler threw: its error is in the log of the app',
  HANDLER_TIMEOUT: 'a handler took too long: see handlerTimeout, or use an inbox',
  STORE_UNAVAILABLE: 'the inbox cannot be written: look at its store',
  SECRET_UNAVAILABLE: 'the look-up of secrets failed in the app',
  OVERLOADED: 'send fewer at a time: --concurrency or --rate',
  DRAINING: 'the app is shutting down',
}

const byError: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start the app, and check the port',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name cannot be resolved right now',
  ECONNRESET: 'the app closed the connection before it answered',
  TIMEOUT: 'no answer in time: raise --timeout, or see what the app waits for',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'trust the certificate: NODE_EXTRA_CA_CERTS=<file>',
  EPROTO: 'this is no TLS server: use http:// instead of https://',
}

const byStatus: Readonly<Record<number, string>> = {
  400: 'refused before the receiver? a body parser may have read the body first',
  401: 'something refuses it: is the route behind a login, or is the secret another one?',
  403: 'something refuses it: a firewall, a CSRF check or a login stands before the route',
  404: 'no such route: check the path of the address',
  405: 'the route takes another method: is it registered for POST?',
  413: 'a body parser or proxy before the receiver has a lower limit',
  415: 'a body parser before the receiver wants another content type',
  429: 'too fast for the app: use --rate',
}

/** The next step after an answer that was no success; undefined when there is nothing to add. */
export function hintFor(
  answer: Pick<Answer, 'status' | 'error'> & AnswerOutcome,
): string | undefined {
  const { status, error, code } = answer
  if (error !== undefined) return byError[error] ?? `there was no answer (${error})`
  if (code !== undefined && Object.hasOwn(byCode, code)) return byCode[code]
  if (status >= 300 && status < 400) return 'a redirect: give the address that it leads to'
  if (status >= 500) return 'the app failed: look into its log'
  return byStatus[status]
}
