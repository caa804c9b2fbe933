// The one place that decides what the service's document does not show. It holds facts and runs
// nothing; every decision is also a sentence, which `/_sandbox/assumptions` lists.
import { schemes } from '../protocol/scheme.ts'

/** What an occurrence becomes on the wire; `id` and `createdAt` are the event's own. */
export interface EnvelopeParts {
  readonly id: string
  /** Canonical, or legacy for a subscription that filters on legacy names. */
  readonly event: string
  /** ISO 8601, when the thing happened. */
  readonly createdAt: string
  readonly data: unknown
}

/** The sandbox's decisions, as values. */
export const profile = {
  /** The receiver's default scheme (section 6, rules 1 and 4). */
  scheme: schemes.service(),
  /** The first of each path that the receiver's default envelope reads (section 6, rule 3). */
  envelope: ({ id, event, createdAt, data }: EnvelopeParts) => ({ id, event, createdAt, data }),
  delivery: {
    timeoutMs: 10_000,
    /** How many of one subscription are on their way at once. */
    concurrency: 8,
    /** Seconds before the second, third, … attempt; after the last one the delivery has failed. */
    retryDelaysSeconds: [5, 30, 120, 600, 3600, 21_600, 86_400],
    /** A longer `Retry-After` is cut to this. */
    retryAfterMaxSeconds: 86_400,
  },
  /** How long the old secret signs beside the new one after a rotation. */
  rotationOverlapSeconds: 86_400,
  rate: {
    windowSeconds: 60,
    /** Section 8 leaves the Enterprise figure to an agreement; this is the sandbox's. */
    enterprisePerMinute: 1000,
  },
  /** Bytes of a request body beyond which the answer is 413 (section 8: not shown). */
  maxBodyBytes: 1_048_576,
  /** The address in invitations; the token follows. */
  subjectPath: '/verify/',
} as const

/** One thing that the document leaves open and how the sandbox reads it. */
export interface Assumption {
  /** The section of the service's document that leaves it open. */
  readonly section: string
  readonly topic: string
  readonly decision: string
}

const { delivery } = profile

/** Every decision of the sandbox beyond the document, for `/_sandbox/assumptions`. */
export const assumptions: readonly Assumption[] = [
  assume(
    '2.1',
    'current step',
    'null until the subject starts, then the first step not yet submitted, then null',
  ),
  assume(
    '2.1',
    'requestor',
    'the name, e-mail and company of the organization that owns the API key',
  ),
  assume(
    '2.2',
    'score',
    'null until the subject has submitted; then 0 to 100, high when approved by magic name, low when rejected',
  ),
  assume(
    '2.2',
    'step data',
    'invented, the same for the same verification; each has status and completedAt, and is null (documents: empty) until its step is submitted',
  ),
  assume(
    '2.2',
    'audit trail',
    'steps holds one entry for each action: at, action, actor, step, status',
  ),
  assume(
    '2.3',
    'shared fields',
    'any strings; the parties get them in the outbox when the verification is approved',
  ),
  assume(
    '3',
    'transitions',
    'start: initiated; submit: in_progress; review: submitted; approve and reject: submitted, pending_review; cancel: all that are not final; expire: initiated, in_progress',
  ),
  assume(
    '3',
    'expiry',
    'at expiresAt a verification that is initiated or in_progress expires; a submitted one waits for its operator',
  ),
  assume(
    '4',
    'request bodies',
    `a body that is not JSON, has another content type, or is no object gives 400; one above ${profile.maxBodyBytes} bytes gives 413; unknown fields are ignored; a name that reaches a prototype (__proto__) gives 422`,
  ),
  assume('4.1', 'null', 'a field of a create call may be left out, but not be null'),
  assume(
    '4.1',
    'linked client',
    'a clientId that the organization does not own, or that is deleted, is an offending field (422)',
  ),
  assume(
    '4.2',
    'query parameters',
    'one that breaks its rule, or is given twice, gives 422 with an entry for each; status may be given several times; unknown ones are ignored',
  ),
  assume(
    '4.2',
    'sort direction',
    'created_at and updated_at newest first, status in the order of section 3; ties by creation, newest first',
  ),
  assume('4.2', 'search', 'anywhere in the subject’s name or e-mail, whatever the case'),
  assume(
    '4.5',
    'sort of clients',
    'newest first by default; name in the order of an English dictionary (a person by the person’s name, a business by its own), request_count highest first',
  ),
  assume(
    '4.6',
    'soft-deleted clients',
    'stay readable and listed with active false; a deleted one cannot be updated',
  ),
  assume(
    '5',
    'order of checks',
    '401, then 403, then 402, then 429, then the request itself; on every endpoint, not on creation alone',
  ),
  assume(
    '6',
    'payload',
    'an object with id, event, createdAt and data, which is the resource of section 2.1 or 2.4',
  ),
  assume(
    '6',
    'signature',
    'lower-case hex of HMAC-SHA256 over the exact body bytes; key: the UTF-8 bytes of the secret; while a secret rotates, both signatures separated by a comma',
  ),
  assume(
    '6',
    'subscriptions',
    'managed under /_sandbox/subscriptions; one that names no organization hears all of them',
  ),
  assume(
    '6',
    'legacy filters',
    'a subscription whose filter has the older form gets the older name; one that has both forms gets both, each with an id of its own',
  ),
  assume(
    '6',
    'retries',
    `an answer that is not 2xx, a time-out after ${delivery.timeoutMs / 1000} s and a broken connection are tried again after ${delivery.retryDelaysSeconds.join(', ')} s, later where Retry-After asks for it, up to ${delivery.retryAfterMaxSeconds} s; a date is compared with the answer’s own Date`,
  ),
  assume(
    '6',
    'order',
    `first attempts of one resource to one subscription are made one after the other, in the order of the events, those of other resources beside them, ${delivery.concurrency} at a time for each subscription; a retry does not hold later ones back, so that it may arrive after them`,
  ),
  assume(
    '7',
    'other statuses',
    'an unknown path is 404, an unknown method 405 METHOD_NOT_ALLOWED with Allow, a large body 413 PAYLOAD_TOO_LARGE, all in the error form',
  ),
  assume(
    '8',
    'rate window',
    `fixed, ${profile.rate.windowSeconds} s from the organization’s first request in it; refused requests do not count`,
  ),
  assume(
    '8',
    'Enterprise rate',
    `${profile.rate.enterprisePerMinute} per minute, unless the option rateLimit says otherwise`,
  ),
  assume(
    '9',
    'deprecation',
    'legacy paths answer with Deprecation and Link (successor-version) headers, errors too',
  ),
]

function assume(section: string, topic: string, decision: string): Assumption {
  return { section, topic, decision }
}
