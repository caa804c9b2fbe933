// A sender of identity verifications as data: how it signs, how its events read in our words, what
// it expects of replies. The presets and what reads them are in vendors/, for bundles without them.
import { vendorCode } from '../host/brands.ts'
import type { EnvelopeReader } from './envelope.ts'
import type { DecidedBy, WebhookEvent } from './events.ts'
import type { MeaningOptions } from './meanings.ts'
import type { DecisionName, EventName } from './names.ts'
import type { Scheme } from './scheme-definition.ts'

/**
 * A dotted path into the body. `a.*.b` stands for the distinct values of `b` in the list `a`, in
 * alphabetical order and joined by a space. Of several paths, the first that is there counts for times and ids (`…At`,
 * `…Id`); other texts are joined by a space.
 */
export type VendorPath = string | readonly string[]

/** One row of a vendor's names: what the body says, and what that is in our words. */
export interface VendorRule {
  /** Values at dotted paths, all of which must hold; null stands for what is absent or null. */
  readonly when: Readonly<Record<string, VendorValue | readonly VendorValue[]>>
  readonly is: EventName
}

export type VendorValue = string | number | boolean | null

/** How a vendor's body reads. */
export interface VendorReading {
  /** Where the list of events is if a body holds several; the other paths lead through one of them. */
  readonly events?: string
  /** Where the vendor's own name of the event is; the first path that has one. */
  readonly name: readonly string[]
  /** Where the id of the verification is; the first path that has one. */
  readonly subject: readonly string[]
  /** Paths whose values, joined by a colon, identify an event, if the document names them. */
  readonly id?: readonly string[]
  /** Where an event names another event of the same occurrence: both then have that event's id. */
  readonly sameAs?: readonly string[]
  /**
   * `'any'` if customers choose how keys are spelled: `created-at`, `createdAt`, `created_at` and
   * `CreatedAt` are then one key. A key that is spelled as in the path comes first.
   */
  readonly spelling?: 'any'
  readonly occurredAt?: readonly string[]
  /**
   * `'body'` where the time is the event's own, so that equal bodies are one event: an inbox tells
   * duplicates by them if there is no id. Otherwise each delivery without an id is an event.
   */
  readonly dedupe?: 'body'
  /** Top-level fields that each repeat of a delivery changes: bodies are compared without them. */
  readonly volatile?: readonly string[]
  readonly rules: readonly VendorRule[]
  /** Our fields of a verification, and where the vendor writes them. */
  readonly fields?: Readonly<Record<string, VendorPath>>
}

/** A page of the vendor's public documents, and the day on which it was read. */
export interface VendorDocument {
  readonly url: string
  readonly read: string
}

/** The vendor's documented replies and repeats; undocumented ones are absent. */
export interface VendorDelivery {
  /** Milliseconds in which a reply must come. */
  readonly timeout?: number
  /** Milliseconds between attempts. */
  readonly retries?: readonly number[]
  /** Whether only 200 counts as a success, or any 2xx. */
  readonly success?: 200 | '2xx'
  /** Notes for operators. */
  readonly note?: string
}

/** A delivery made from the vendor's documents. */
export interface VendorFixture {
  /** Our name of it; undefined where it has none. */
  readonly name?: EventName
  readonly body: Readonly<Record<string, unknown>>
}

/** The finality of a vendor's decisions by its documents; each decision is in exactly one list. */
export interface DeclaredFinality {
  /** Decisions after which no other comes. */
  readonly final: readonly DecisionName[]
  /** Decisions that a later one may replace. */
  readonly reversible: readonly DecisionName[]
}

/** A request to a vendor's API, with places for credentials and ids. */
export interface VendorCall {
  /** Default `'GET'`. */
  readonly method?: 'POST'
  readonly baseUrl: string
  /** `{id}` stands for the id of the verification, `{a.path}` for a value of the event's body. */
  readonly path: string
  /**
   * `{token}`, `{key}`, `{secret}` and `{clientId}` stand for credentials, `{basic}` for key and
   * secret as Basic authentication has them.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON, with the same places as `path` and `headers`. */
  readonly body?: Readonly<Record<string, string>>
  /** Sent as a form in place of `body`. */
  readonly form?: Readonly<Record<string, string>>
}

/** A request that reads the record of a verification. */
export interface VendorRequest extends VendorCall {
  /** A request that gives the `{token}` of this one. */
  readonly login?: VendorLogin
}

/** A request for a token. */
export interface VendorLogin extends VendorCall {
  /** The dotted path of the token in the answer. */
  readonly token: string
  /** Milliseconds for which a token is used. */
  readonly lifetime: number
}

/** Where a vendor's API has the decision of a verification, and how its record reads. */
export interface VendorDecision {
  /** The events that name such a record; all of them by default. */
  readonly of?: VendorRule['when']
  /** The events that lack their decision, which is read before their handlers run. */
  readonly hints?: VendorRule['when']
  readonly request: VendorRequest
  /** How the record reads: a state without a rule decides nothing. */
  readonly reading: VendorReading
  /** Records that are older than the hint, which comes after the decision: they are read again. */
  readonly outdated?: VendorRule['when']
  /** Records made from the vendor's documents, one for each state. */
  readonly fixtures: readonly VendorFixture[]
}

/** An identity vendor, as data. */
export interface Vendor {
  readonly name: string
  readonly title: string
  readonly documents: readonly VendorDocument[]
  /**
   * The deliveries that tested the preset: made from documents, signatures that the vendor has
   * published, or captures of real deliveries.
   */
  readonly triedOn: 'documents' | 'vectors' | 'captures'
  readonly scheme: Scheme
  readonly reading: VendorReading
  /** Which of its decisions hold for good, and which a later one may replace. */
  readonly finality: DeclaredFinality
  readonly delivery: VendorDelivery
  /** Published addresses of its deliveries. */
  readonly addresses?: readonly string[]
  /** How it tries an address: the body of such a delivery, and the field that it wants back. */
  readonly challenge?: { readonly when: VendorRule['when']; readonly echo: string }
  readonly fixtures: readonly VendorFixture[]
  /** Where its API has decisions; the first whose `of` holds for an event counts. */
  readonly decisions?: readonly VendorDecision[]
}

/** The decisions behind a vendor's API. */
export interface Decisions {
  /** True if handlers can read the vendor's records. */
  readonly hasApi: boolean
  /** True if an event lacks a decision that is read; warns once if nothing can read it. */
  awaits(event: WebhookEvent): boolean
  /**
   * The event with the decision that the vendor's record states; unchanged if it states none yet.
   *
   * @throws WebhookError `DECISION_UNREAD`; what the API's `fetch` throws
   */
  decided(event: WebhookEvent, signal: AbortSignal): Promise<WebhookEvent>
  /** The vendor's record of an event's verification; undefined if its API has none. */
  record(event: WebhookEvent, signal: AbortSignal): Promise<unknown>
  /** An event with the data of a record, under the name that it has. */
  refreshed(event: WebhookEvent, record: unknown): WebhookEvent
}

/** The options that concern a vendor's decisions. */
export interface DecisionOptions extends MeaningOptions {
  readonly accept?: readonly DecidedBy[]
}

/** The code of a vendor: `defineVendor` adds it to the data. */
export interface VendorCode {
  /** True if it was given the credentials of the vendor's API. */
  readonly hasApi: boolean
  /** @throws WebhookError `OPTION_INVALID` for the option `accept` */
  reader(options: DecisionOptions): EnvelopeReader
  /** Adds the replies that the vendor requires to the option `respond`. */
  respond<Option>(own: Option): Option
  decisions(options: DecisionOptions): Decisions
}

/** The code of a vendor; undefined for what `defineVendor` did not make. */
export function codeOf(vendor: Vendor | undefined): VendorCode | undefined {
  // Trust is granted here: only defineVendor() sets the property.
  return (vendor as { readonly [vendorCode]?: VendorCode } | undefined)?.[vendorCode]
}
