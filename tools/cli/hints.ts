// The likely reason of a response, and the next step for the person who has sent the delivery.
import { errorPage, type OutcomeCode } from '../../src/index.ts'
import type { AnswerOutcome, DeliveryAnswer } from './deliver.ts'

/** A code without a hint would get that of its status, which is about other codes. */
const byCode: Readonly<Record<OutcomeCode, string>> = {
  SIGNATURE_MISSING:
    'no signature reached the receiver: a proxy drops the header, or the receiver expects another one (use the same scheme on both sides)',
  SIGNATURE_MALFORMED:
    'the signature header has another format: use the same scheme on both sides (see discover)',
  SIGNATURE_MISMATCH:
    'both sides need the same secret, and the receiver needs the exact bytes: try doctor --to <url>',
  TIMESTAMP_OUTSIDE_TOLERANCE:
    'the signed time is too old or too new: sign again (replay --resign), and check both clocks',
  HEADER_AMBIGUOUS:
    'a header of the signature arrived twice: leave out a --header of its name, or find the proxy that adds one',
  ADDRESS_NOT_ALLOWED:
    'this receiver accepts only certain addresses: send from an address of its scheme (see docs/vendors.md)',
  BODY_INCOMPLETE: 'the body did not arrive within bodyTimeout: check the connection and proxies',
  BODY_NOT_UTF8: 'the signature holds, but the body is not UTF-8: check the file that was sent',
  BODY_NOT_JSON: 'the signature holds, but the body is not JSON: check the file that was sent',
  ENVELOPE_INVALID:
    'the signature holds, but the receiver finds no event in the body: send what its option `vendor` or `envelope` reads (--scheme vendors.<name>, or replay captures)',
  EVENT_INVALID:
    'the signature holds, but the data does not fit its schema, and the receiver has validate: reject',
  BODY_CONSUMED: 'a body parser ran before the receiver: mount the receiver above it',
  BODY_TOO_LARGE: 'raise maxBytes of the receiver, or the limit of the proxy before it',
  CONTENT_TYPE_UNSUPPORTED: 'send application/json',
  ENCODING_UNSUPPORTED: 'send the body uncompressed',
  HANDLER_FAILED: 'a handler threw: see the log of the app',
  HANDLER_TIMEOUT: 'a handler took too long: raise handlerTimeout, or use an inbox',
  STORE_UNAVAILABLE: 'the inbox cannot be written: check its store',
  SECRET_UNAVAILABLE: 'the app could not look up its secret: check its configuration',
  OVERLOADED: 'the app is overloaded: send less with --concurrency or --rate',
  DRAINING: 'the app is shutting down',
}

const byError: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: start the app and check the port',
  ENOTFOUND: 'the host does not exist: check the name',
  EAI_AGAIN: 'the host name cannot be resolved right now',
  ECONNRESET: 'the app closed the connection before it responded',
  TIMEOUT: 'no response in time: raise --timeout, or check what the app is waiting for',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'trust the certificate: NODE_EXTRA_CA_CERTS=<file>',
  EPROTO: 'the server does not speak TLS: use http:// instead of https://',
}

const byStatus: Readonly<Record<number, string>> = {
  101: 'the server switches to another protocol: check the address',
  400: 'refused before the receiver? A body parser may have read the body first',
  401: 'the route may require a login, or use another secret',
  403: 'a firewall, a CSRF check or a login refuses it before the route',
  404: 'no route takes a POST there: check the path of the address, and that the route is for POST',
  405: 'the route does not take POST: check how it is registered',
  413: 'a body parser or proxy before the receiver has a lower limit',
  415: 'a body parser before the receiver expects another content type',
  429: 'the app limits the rate: use --rate',
}

export function hintFor(answer: Pick<DeliveryAnswer, 'status' | 'error'> & AnswerOutcome) {
  const { status, error, code } = answer
  if (error !== undefined) return byError[error] ?? `no response (${error})`
  if (isCode(code)) return `${byCode[code]} (${errorPage(code)})`
  if (status >= 300 && status < 400) return 'a redirect: use the address that it leads to'
  if (status >= 500) return 'the app failed: see its log'
  return byStatus[status]
}

function isCode(code: string | undefined): code is OutcomeCode {
  return code !== undefined && Object.hasOwn(byCode, code)
}
