// Checks a vendor's data, and adds the code that reads its deliveries and records.
import { checkChoice, checkOptionNames, invalid, shown } from '../foundation/check.ts'
import { vendorCode } from '../host/brands.ts'
import {
  overrideOf,
  type ReplyChange,
  type Responder,
  type RespondOption,
} from '../outcome/reply.ts'
import { taken } from '../outcome/table.ts'
import type { DecidedBy } from '../protocol/events.ts'
import { isObject } from '../protocol/json-paths.ts'
import { decisionNames, type EventName, isDecision, isEventName } from '../protocol/names.ts'
import type { Vendor, VendorCode, VendorReading } from '../protocol/vendor.ts'
import { ApiDecisions } from './decisions.ts'
import { challengeAnswer, envelopesOf } from './reading.ts'
import { createReadRecord, type VendorApi } from './vendor-api.ts'

const names: readonly (keyof Vendor)[] = [
  ...(['name', 'title', 'documents', 'triedOn', 'scheme', 'reading', 'finality'] as const),
  ...(['delivery', 'addresses', 'challenge', 'fixtures', 'decisions'] as const),
]

/**
 * A vendor of your own, checked. With the credentials of its API, decisions are read there.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function defineVendor(vendor: Vendor, api?: VendorApi): Vendor {
  checkOptionNames('defineVendor', vendor, names)
  const { name, scheme, reading, finality, decisions = [] } = vendor
  if (typeof name !== 'string' || !/^[a-z][a-z0-9]*$/i.test(name)) {
    throw invalid(`vendor.name must be letters and digits, got ${shown(name)}`)
  }
  if (!Array.isArray(scheme?.template)) {
    throw invalid(`vendor.scheme must be created by a builder of schemes, got ${shown(scheme)}`)
  }
  const readings = [reading, ...decisions.map((one) => one.reading)]
  for (const one of readings) checkReading(one)
  const given = readings.flatMap(({ rules }) => rules.map(({ is }) => is))
  checkFinality(finality, given)
  const requests = decisions.map(({ request }) => request)
  const read = api && createReadRecord(name, requests, api)
  const checked = { ...vendor }
  const code: VendorCode = {
    hasApi: read !== undefined,
    reader({ accept }) {
      const accepted = acceptedOf(accept)
      return envelopesOf(checked, accepted, read !== undefined && accepted.includes('api'))
    },
    // Trust is granted here: a receiver has checked its option.
    respond: <Option>(own: Option) => respondTo(checked, own as Responder) as Option,
    decisions: (options) =>
      new ApiDecisions(checked, read, { ...options, accept: acceptedOf(options.accept) }),
  }
  // Not enumerable: who prints a vendor sees data alone.
  Object.defineProperty(checked, vendorCode, { value: code })
  return Object.freeze(checked)
}

const pathLists = ['id', 'sameAs', 'occurredAt', 'volatile'] as const

/** A field that is misspelt, or a path where a list of them belongs, would read nothing. */
function checkReading(reading: VendorReading): void {
  const others = ['name', 'subject', 'events', 'spelling', 'dedupe', 'rules', 'fields']
  checkOptionNames('vendor.reading', reading, [...pathLists, ...others])
  checkChoice('vendor.reading.dedupe', reading.dedupe, ['body'])
  checkChoice('vendor.reading.spelling', reading.spelling, ['any'])
  const { name, subject, rules, fields = {} } = reading
  const lists: Record<string, unknown> = { name, subject }
  for (const list of pathLists) lists[list] = reading[list] ?? []
  for (const [field, path] of Object.entries(fields)) lists[`fields.${field}`] = [path].flat()
  for (const [field, list] of Object.entries(lists)) {
    if (Array.isArray(list) && list.every((path) => typeof path === 'string' && path !== ''))
      continue
    throw invalid(
      `vendor.reading.${field} must be a list of paths like ['data.id'], got ${shown(list)}`,
    )
  }
  const wrong = Array.isArray(rules) ? rules.find(({ is }) => !isEventName(is))?.is : rules
  if (!Array.isArray(rules) || wrong !== undefined) {
    throw invalid(`vendor.reading.rules must map to event names, got ${shown(wrong)}`)
  }
  for (const { when, is } of rules) {
    // A rule without a condition would make every event of a vendor what it says.
    if (isObject(when) && Object.keys(when).length > 0) continue
    throw invalid(
      `vendor.reading.rules: the rule for ${is} needs values at paths, e.g. { when: { status: 'approved' }, is: '${is}' }, got ${shown(when)}`,
    )
  }
}

/** Every decision that a vendor can send is declared once: final, or reversible. */
function checkFinality(finality: Vendor['finality'], given: readonly EventName[]): void {
  checkOptionNames('vendor.finality', finality, ['final', 'reversible'])
  const declared: readonly unknown[] = [finality.final ?? [], finality.reversible ?? []].flat()
  const wrong = declared.find((one) => typeof one !== 'string' || !isDecision(one))
  if (wrong !== undefined) {
    throw invalid(`vendor.finality must list ${decisionNames.join(', ')}, got ${shown(wrong)}`)
  }
  for (const name of new Set([...given.filter(isDecision), ...declared])) {
    if (declared.filter((one) => one === name).length === 1) continue
    throw invalid(`vendor.finality must list ${name} once, as final or as reversible`)
  }
}

const origins: readonly DecidedBy[] = ['signed', 'api', 'unsigned']

/** Checks the option `accept` of a receiver, and fills in its default. */
function acceptedOf(accept: readonly DecidedBy[] = ['signed', 'api']): readonly DecidedBy[] {
  const isList = Array.isArray(accept) && accept.length > 0
  if (isList && accept.every((one) => origins.includes(one))) return accept
  throw invalid(`accept must list 'signed', 'api' or 'unsigned', got ${shown(accept)}`)
}

/**
 * Adds the replies that a vendor requires to the receiver's own `respond`: answers to its challenges,
 * and 200 for stored events if the vendor takes no other success.
 */
function respondTo(vendor: Vendor, own: RespondOption | Responder = {}): RespondOption | Responder {
  const status = vendor.delivery.success === 200 ? 200 : taken.accepted
  const kept = (change: ReplyChange) =>
    typeof change === 'number' ? change : { status, ...change }
  if (!vendor.challenge && typeof own !== 'function') {
    return { ...own, accepted: kept(own.accepted) }
  }
  const responder: Responder = async (outcome, event) => {
    const answer = challengeAnswer(vendor, event?.raw)
    if (answer !== undefined && outcome.kind !== 'rejected') return { status: 200, body: answer }
    const change = typeof own === 'function' ? await own(outcome, event) : overrideOf(own, outcome)
    return outcome.kind === 'accepted' ? kept(change) : change
  }
  return Object.assign(responder, typeof own === 'function' && { handshake: own.handshake })
}
