// Every decision of the sandbox beyond the service's document, in a sentence each: the list at
// `/_sandbox/assumptions`. Tests hold each of them.
import { profile } from './profile.ts'

/** A question that the document leaves open, and how the sandbox answers it. */
export interface Assumption {
  /** The section of the service's document that leaves it open. */
  readonly section: string
  readonly topic: string
  readonly decision: string
}

const { delivery, rate, maxBodyBytes } = profile
const retryDelays = delivery.retryDelaysSeconds.join(', ')

const decisions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '2.1': {
    'current step':
      'null until the subject starts, then the first step not yet submitted, then null',
    requestor: 'the name, e-mail and company of the organization that owns the API key',
  },
  '2.2': {
    score:
      'null until the subject has submitted; then 0 to 100, high when approved by magic name, low when rejected',
    'step data':
      'the values that the subject filled in on the link’s page, with status and completedAt; null (documents: empty) until the step is submitted',
    'audit trail':
      'steps holds one entry for each action: at, action, actor, step, status; consent, attestation and estate, which have no object, add the given values',
  },
  '2.3': {
    'shared fields':
      'any strings; the parties get them in the outbox when the verification is approved',
  },
  '2.4': {
    requestCount:
      'counts every verification created for the client, canceled ones too; it changes neither updatedAt nor does it send client.updated',
    externalId: 'need not be unique',
  },
  '2.5': {
    'pages without records':
      'a page beyond the last is 200 with empty data and hasPrev true; a list without records has totalPages 0 and hasPrev false',
  },
  '3': {
    transitions:
      'start: initiated; submit: in_progress; review: submitted; approve and reject: submitted, pending_review; cancel: every status that is not final; expire: initiated, in_progress',
    expiry:
      'at expiresAt a verification that is initiated or in_progress expires; a submitted one waits for its operator',
  },
  '4': {
    'request bodies': `a body that is not JSON, has another content type, or is not an object gives 400; one above ${maxBodyBytes} bytes gives 413; unknown fields are ignored; keys that reach a prototype (__proto__) are ignored`,
    nesting: 'a body of more than 512 levels gives 400',
    'repeated keys': 'the last of two equal keys in a JSON object counts',
    'byte order mark': 'one before a JSON body is ignored',
    'e-mail addresses':
      'RFC 5321 and, internationalized, RFC 6531: a dot-atom or quoted local part, a host name of any number of labels (localhost too) or an address in brackets; only the lengths of section 8 are checked',
  },
  '4.1': {
    null: 'a field of a create call may be left out, but not be null',
    'linked client':
      'a clientId that the organization does not own, or that is deleted, is an offending field (422)',
    'business clients':
      'a client without a person’s name lends its businessName to subjectName, cut to 128 characters',
    invitation: 'sent as well when the e-mail comes from the client instead of the body',
    'return address':
      'the subject’s page links back to config.returnUrl, or to the query parameter returnUrl of the page’s address: http and https only',
    'repeated requirements': 'the same step may stand twice; it is submitted once',
  },
  '4.2': {
    'query parameters':
      'a parameter that breaks its rule gives 422 with an entry for each; the last of two equal ones counts, but status may be given several times; unknown ones are ignored',
    'status list':
      'spaces around commas are ignored; an empty item, as after a trailing comma, gives 422',
    'sort direction':
      'created_at and updated_at newest first, status in the order of section 3; ties by creation, newest first',
    search: 'anywhere in the subject’s name or e-mail, ignoring case',
    dates: 'compared to the millisecond, both ends included',
  },
  '4.4': {
    country:
      'any two letters in either case, kept as given; whether the code is assigned is not checked',
  },
  '4.5': {
    'search of clients':
      'first and last name together, businessName, email and externalId, ignoring case',
    'sort of clients':
      'newest first by default; name in the order of an English dictionary (a person by the person’s name, a business by its own), request_count highest first',
  },
  '4.6': {
    'soft-deleted clients':
      'stay readable and listed with active false; a deleted one cannot be updated',
  },
  '5': {
    'order of checks':
      '401, then 403, then 402, then 429, then the request itself; on every endpoint, not only on creation',
  },
  '6': {
    payload:
      'an object with id, event, createdAt and data, which is the resource of section 2.1 or 2.4',
    signature:
      'lower-case hex of HMAC-SHA256 over the exact body bytes; key: the UTF-8 bytes of the secret; while a secret rotates, both signatures separated by a comma',
    subscriptions:
      'managed under /_sandbox/subscriptions; a subscription without an organization receives the events of all',
    'legacy filters':
      'a subscription with a legacy filter gets the legacy name; a subscription with both forms gets both events, each with its own id',
    retries: `an answer other than 2xx, a time-out after ${delivery.timeoutMs / 1000} s and a broken connection are tried again after ${retryDelays} s, later where Retry-After asks for it, up to ${delivery.retryAfterMaxSeconds} s; a date is compared with the answer’s own Date`,
    order: `first attempts of one resource to one subscription are made one after another, in the order of the events, and beside the attempts of other resources, ${delivery.concurrency} at a time for each subscription; a retry does not hold later ones back, so it may arrive after them`,
    'client.updated':
      'sent for every update that names a field, also when no value changes; not for an update without fields',
  },
  '7': {
    errors: 'one entry for each offending field, at most 1000',
    'other statuses':
      'an unknown path is 404, an unknown method 405 METHOD_NOT_ALLOWED with Allow, a large body 413 PAYLOAD_TOO_LARGE, all in the error form',
  },
  '8': {
    'rate window': `fixed, ${rate.windowSeconds} s from the organization’s first request in it; refused requests do not count`,
    'rate headers': 'X-RateLimit-Limit and X-RateLimit-Remaining come with a 429 only',
    'Enterprise rate': `${rate.enterprisePerMinute} per minute, unless the option rateLimit says otherwise`,
  },
  '9': {
    deprecation:
      'legacy paths answer with Deprecation and Link (successor-version) headers, errors too',
  },
}

/** Every decision of the sandbox beyond the document, for `/_sandbox/assumptions`. */
export const assumptions: readonly Assumption[] = Object.entries(decisions).flatMap(
  ([section, topics]) =>
    Object.entries(topics).map(([topic, decision]) => ({ section, topic, decision })),
)
