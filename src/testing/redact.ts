// Removes personal data from JSON text and leaves everything else as it was written: white space,
// key order, escapes, number forms. What is not known to be harmless is masked.
import { changeJson, parseJson } from '../foundation/json.ts'
import { isObject, longestId } from '../protocol/json-paths.ts'
import { isEventName, isLegacyName } from '../protocol/names.ts'
import {
  flagKeys,
  memberTypes,
  placeWithin,
  requirementNames,
  type ValuePlace,
  verificationStatuses,
  verificationTypes,
} from '../protocol/values.ts'
import { isKnownKey } from './known-keys.ts'
import { MaskedKeys, mask } from './mask.ts'
import { fakeId, isOpaqueId } from './opaque-id.ts'

/** Values of the documented enums say nothing about a person (sections 2.1 and 2.4). */
const enumValues: ReadonlySet<string> = new Set([
  ...verificationTypes,
  ...verificationStatuses,
  ...requirementNames,
  ...memberTypes,
])
const enumKeys = /^(type|status|requirements|currentStep|memberType)$/
const nameKeys = /^(event|type|name)$/
const idKeys = /^(id|eventId|orgId|clientId|matterId)$/
/** The documented times of resources, and those of an envelope; any other could be a birthday. */
const timeKeys = /^(createdAt|updatedAt|submittedAt|expiresAt)$/
const envelopeTimeKeys = /^(created_at|timestamp|occurredAt)$/
const countKeys = /^(score|expiresDays|requestCount|statusCode)$/

const dateTime = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/
/** Seconds or milliseconds since the epoch, of the years 2001 to 2033. */
const epoch = /^1\d{9}(\d{3})?$/

/** Numbers, flags and marks of JSON. */
const token = /-?\d[\d.eE+-]*|true|false|[{}[\]:,]/g

interface Level {
  readonly kind: '{' | '['
  /** Of its values. */
  readonly place: ValuePlace
  masked?: MaskedKeys
  key: string
  expectsKey: boolean
}

/**
 * Masks every personal value and key of JSON text; the result is JSON of the same shape. `own` are
 * further keys that are known to be harmless.
 */
export function redactJson(text: string, own: readonly string[] = []): string {
  const levels: Level[] = []
  const root = isOfService(parseJson(text)?.value) ? 'documented' : 'unknown'
  const ownKeys = new Set(own)
  const isKnown = (key: string) => ownKeys.has(key) || isKnownKey(key)
  const redact = (part: string) => {
    const level = levels.at(-1)
    if (part === '{' || part === '[') {
      const under = level?.key ?? ''
      const place = placeWithin(under, level?.place ?? root, part === '[')
      const key = part === '[' ? under : ''
      levels.push({ kind: part, place, key, expectsKey: part === '{' })
      return part
    }
    if (part === '}' || part === ']') {
      levels.pop()
      return part
    }
    if (part === ':' || part === ',') {
      if (level?.kind === '{') level.expectsKey = part === ','
      return part
    }
    if (part === 'true' || part === 'false') return redactFlag(part, level)
    if (!part.startsWith('"')) return redactNumber(part, level, levels.length)
    if (level?.expectsKey) {
      const key = JSON.parse(part) as string
      level.key = key
      if (level.place !== 'free' && isKnown(key)) return part
      level.masked ??= new MaskedKeys(isKnown)
      return level.masked.mask(part, key)
    }
    const value = JSON.parse(part) as string
    if (isHarmless(value, level, levels.length)) return part
    const isId = isIdOf(level) && value.length <= longestId
    return isId ? JSON.stringify(fakeId(value)) : mask(part)
  }
  return changeJson(text, { outside: (part) => part.replaceAll(token, redact), string: redact })
}

/** A vendor's body has places of the same names, and its decision in them. */
function isOfService(body: unknown): boolean {
  if (!isObject(body)) return false
  return Object.entries(body).some(([key, value]) => nameKeys.test(key) && isName(value))
}

const isName = (value: unknown) =>
  typeof value === 'string' && (isEventName(value) || isLegacyName(value))

/** The key of a value at a documented place. */
function documentedKey(level: Level | undefined): string {
  return level?.place === 'documented' ? level.key : ''
}

function isIdOf(level: Level | undefined): boolean {
  return level !== undefined && level.place !== 'free' && idKeys.test(level.key)
}

function isEnvelopeTime(level: Level | undefined, depth: number): boolean {
  return depth === 1 && envelopeTimeKeys.test(level?.key ?? '')
}

/** Another flag could say that a list of sanctions names the person. */
function redactFlag(part: string, level: Level | undefined): string {
  return flagKeys.test(documentedKey(level)) ? part : 'false'
}

function redactNumber(part: string, level: Level | undefined, depth: number): string {
  const key = documentedKey(level)
  if (countKeys.test(key) && part.replaceAll(/\D/g, '').length <= 6) return part
  if (isEnvelopeTime(level, depth) && epoch.test(part)) return part
  return part.replaceAll(/\d/g, '1')
}

function isHarmless(value: string, level: Level | undefined, depth: number): boolean {
  if (isIdOf(level)) return isOpaqueId(value)
  const key = documentedKey(level)
  if (depth === 1 && nameKeys.test(key)) return isName(value)
  if (enumKeys.test(key)) return enumValues.has(value)
  const isTime = timeKeys.test(key) || isEnvelopeTime(level, depth)
  return isTime && dateTime.test(value)
}
