// Which values may be seen before somebody asks for a person's data: those of fields that are known
// to hold none. Everything else is masked, whatever its name.
import { eventNames, legacyNames } from '../../src/protocol/names.ts'
import {
  flagKeys,
  memberTypes,
  placeWithin,
  requirementNames,
  type ValuePlace,
  verificationStatuses,
  verificationTypes,
} from '../../src/protocol/values.ts'

const ids =
  /^(?:id|(?:org|organization|event|client|matter|verification|subscription|resource|entry)Id)$/
const times = /^(?:(?:expires|submitted|created|updated|occurred|completed)At|at|timestamp)$/
const words = /^(?:type|status|requirements|currentStep|memberType|event|name)$/
/** Any other word could be about a person. The types of documents are those of the sandbox. */
const documentedWords: ReadonlySet<string> = new Set([
  ...['passport', 'drivers_license', 'identity_card'],
  ...verificationTypes,
  ...verificationStatuses,
  ...requirementNames,
  ...memberTypes,
  ...eventNames,
  ...legacyNames,
])
const counts = /^(?:score|expiresDays|requestCount|version|statusCode)$/

const stamp = /^\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)$/
const opaque = /^(?:[a-z]{2,6}_)?[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$|^org_[a-z]{1,24}$/i

/** Whether a value of a field says nothing of a person. */
function isHarmless(field: string, value: unknown): boolean {
  if (value === null || value === '') return true
  if (typeof value === 'boolean') return flagKeys.test(field)
  if (typeof value === 'number') return counts.test(field) && Math.abs(value) < 1_000_000
  if (typeof value !== 'string') return false
  if (ids.test(field)) return opaque.test(value)
  if (times.test(field)) return stamp.test(value)
  return words.test(field) && documentedWords.has(value)
}

/** Replaces a masked value. */
export const dots = '••••••'

/** A key may be a person's as well: of metadata, say. Enough for the invented people of a sandbox. */
const isName = (key: string) => /^[A-Za-z_][A-Za-z0-9_]{0,40}$/.test(key)

/**
 * A value as it is shown before it is revealed: the shape is kept, what a person could be is not. Of its
 * keys those that `isShown` knows.
 */
export function masked(value: unknown, isShown: (key: string) => boolean = isName): unknown {
  const shapeOf = (one: unknown, field: string, place: ValuePlace): unknown => {
    if (typeof one !== 'object' || one === null) {
      return place === 'documented' && isHarmless(field, one) ? one : dots
    }
    const within = placeWithin(field, place, Array.isArray(one))
    if (Array.isArray(one)) return one.map((item) => shapeOf(item, field, within))
    const entries = Object.entries(one).map(([key, item], at) => [
      isShown(key) && within !== 'free' ? key : `${dots}${at + 1}`,
      shapeOf(item, key, within),
    ])
    return Object.fromEntries(entries)
  }
  return shapeOf(value, '', 'documented')
}
