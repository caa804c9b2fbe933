// The documented fields of the service and of presets, by place: the keys that stay, and the form
// that a value must have to stay. All other keys and values are replaced.
import { isEventName, isLegacyName } from '../protocol/names.ts'
import {
  memberTypes,
  requirementNames,
  verificationStatuses,
  verificationTypes,
} from '../protocol/values.ts'
import type { Vendor } from '../protocol/vendor.ts'
import { isOpaqueId } from './ids.ts'

/** The names of fields in sections 2 to 7, and of the default envelope. */
export const documentedKeys: ReadonlySet<string> = new Set(
  `id orgId type status requirements currentStep subjectName subjectEmail subjectPhone requestorName
  requestorEmail requestorCompany clientId matterId expiresDays expiresAt submittedAt accessToken
  createdAt updatedAt score person documents biometric location contact business financial pep steps
  name email org sharedFields nameFirst nameLast businessName phone externalId memberType
  addressLine1 addressLine2 city region postalCode country metadata active requestCount page limit
  total totalPages hasNext hasPrev code message statusCode errors field data pagination verification
  client thirdParties config event eventId created_at timestamp occurredAt payload resource
  object`.split(/\s+/),
)
/** Objects whose keys and values belong to the customer (sections 2.4 and 4.1). */
const freeObjects = /^(?:metadata|config)$/
/** The document does not show the fields of steps (section 2.2); a third party's are a person's. */
const documentedObjects = /^(?:data|payload|resource|object|verification|client|pagination)$/

/** Tells a value of a field that says nothing about a person. */
type Check = (value: unknown) => boolean

export const isId: Check = (value) => typeof value === 'string' && isOpaqueId(value)
export const isName: Check = (value) =>
  typeof value === 'string' && (isEventName(value) || isLegacyName(value))
const words = [verificationTypes, verificationStatuses, requirementNames, memberTypes].flat()
const isWord: Check = (value) => words.some((word) => word === value)
const isFlag: Check = (value) => typeof value === 'boolean'
const isCount: Check = (value) =>
  typeof value === 'number' && /^-?(?:\d\.?){1,6}$/.test(String(value))
/** A time as text, or in seconds or milliseconds since the epoch, from 2001 to 2033. */
const isTime: Check = (value) =>
  typeof value === 'number'
    ? /^1\d{9}(?:\d{3})?$/.test(String(value))
    : /^\d{4}-\d{2}-\d{2}T[\d:.]+(?:Z|[+-]\d{2}:\d{2})$/.test(String(value))

const ids = /^(?:id|eventId|orgId|clientId|matterId)$/
/** Fields that only the envelope has. */
const envelope = { name: /^(?:event|type|name)$/, time: /^(?:created_at|timestamp|occurredAt)$/ }
const checks: readonly (readonly [key: RegExp, check: Check])[] = [
  [/^(?:type|status|requirements|currentStep|memberType)$/, isWord],
  [/^(?:createdAt|updatedAt|submittedAt|expiresAt)$/, isTime],
  [/^(?:score|expiresDays|requestCount|statusCode)$/, isCount],
  [/^(?:active|hasNext|hasPrev)$/, isFlag],
]

/** Tells an event of the service from a vendor's body, which has places of the same names. */
export function isServiceEvent(body: unknown): boolean {
  return Object.entries(Object(body)).some(
    ([key, value]) => envelope.name.test(key) && isName(value),
  )
}

/** Where a value is: at a documented place, below an unknown key, or in a customer's own object. */
export interface Place {
  readonly kind: 'documented' | 'unknown' | 'free'
  /** The key of the value, or of the list that holds it. */
  readonly key: string
  /** The dotted path from the root of the body. */
  readonly path: string
}

export function placeWithin({ kind, key, path }: Place, step: string, isList: boolean): Place {
  const isKnown = key === '' || documentedObjects.test(key) || (isList && key === 'requirements')
  const known = isKnown ? kind : 'unknown'
  return {
    kind: kind === 'free' || freeObjects.test(key) ? 'free' : known,
    key: isList ? key : step,
    path: path === '' ? step : `${path}.${step}`,
  }
}

/** The check of a value at a place, if the service documents the place. */
export function checkAt({ kind, key, path }: Place): Check | undefined {
  if (kind !== 'free' && ids.test(key)) return isId
  if (kind !== 'documented') return undefined
  if (path === key && envelope.name.test(key)) return isName
  if (path === key && envelope.time.test(key)) return isTime
  return checks.find(([keys]) => keys.test(key))?.[1]
}

/** The dotted paths that a preset documents, with the checks of their values. */
export type PresetPlaces = ReadonlyMap<string, Check | undefined>

export function presetPlaces({ reading }: Pick<Vendor, 'reading'>): PresetPlaces {
  const { name, subject, rules, id = [], sameAs = [], occurredAt = [], fields = {} } = reading
  const { events } = reading
  const within = events ? Array.from({ length: 16 }, (_, at) => `${events}.${at}.`) : ['']
  const places = new Map<string, Check | undefined>()
  const note = (paths: readonly string[], check?: Check) => {
    for (const path of paths.flatMap((one) => within.map((list) => list + one))) {
      for (const { index } of path.matchAll(/\./g)) places.set(path.slice(0, index), undefined)
      places.set(path, check)
    }
  }
  note([...name, ...Object.values(fields).flat()])
  note(occurredAt, isTime)
  note([...subject, ...id, ...sameAs], isId)
  const said = rules.flatMap(({ when }) => Object.entries(when))
  for (const [path] of said) {
    const values = said.flatMap(([other, value]) => (other === path ? value : []))
    note([path], (value) => values.some((one) => one === value))
  }
  return places
}
