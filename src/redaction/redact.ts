// Removes personal data from JSON: keys and values that are not documented as harmless are
// replaced.
import { isObject } from '../protocol/json-paths.ts'
import {
  checkAt,
  documentedKeys,
  isId,
  isServiceEvent,
  type Place,
  type PresetPlaces,
  placeWithin,
} from './fields.ts'
import { opaqueId } from './ids.ts'

/** Replaces a value that is only shown. */
const dots = '••••••'

/** Replaces letters by x and digits by 0. */
export function maskText(text: string): string {
  return text.replaceAll(/%[0-9a-f]{2}|\p{L}\p{M}*|\p{N}|[^\x20-\x7e]/giu, (one) =>
    /^\p{N}/u.test(one) ? '0' : 'x',
  )
}

/** The ends of a secret: enough to recognize it, too little to use it. */
export function maskSecret(secret: string): string {
  return secret.length > 12 ? `${secret.slice(0, 6)}…${secret.slice(-3)}` : `${secret.slice(0, 4)}…`
}

interface Redaction {
  /** The place of the whole value; by default it depends on whether it is an event of the service. */
  readonly root?: Place['kind']
  readonly keyOf: (nth: number) => string
  readonly replace: (value: unknown, wasId: boolean) => unknown
  /** Tells further keys that stay beside the documented ones. */
  readonly isKey?: (key: string) => boolean
  readonly preset?: PresetPlaces | undefined
}

function redact(body: unknown, options: Redaction): unknown {
  const { keyOf, replace, isKey, preset, root } = options
  const stays = (key: string, { kind, path }: Place) =>
    preset?.has(path) || (kind !== 'free' && (documentedKeys.has(key) || isKey?.(key)))
  const walk = (value: unknown, place: Place): unknown => {
    if (Array.isArray(value)) {
      return value.map((item, at) => walk(item, placeWithin(place, String(at), true)))
    }
    if (!isObject(value)) {
      const check = preset?.get(place.path) ?? checkAt(place)
      const isHarmless = value === null || value === '' || check?.(value)
      return isHarmless ? value : replace(value, check === isId)
    }
    const entries = Object.entries(value).map(([key, item], at) => {
      const inside = placeWithin(place, key, false)
      return [stays(key, inside) ? key : keyOf(at + 1), walk(item, inside)]
    })
    return Object.fromEntries(entries)
  }
  const kind = root ?? (isServiceEvent(body) ? 'documented' : 'unknown')
  return walk(body, { kind, key: '', path: '' })
}

/** Redacts the body of a capture: letters become x, digits 0, and different ids stay different. */
export function redactBody(body: unknown, keys: readonly string[], preset?: PresetPlaces): unknown {
  const replace = (value: unknown, wasId: boolean) => {
    if (typeof value === 'string') return wasId ? opaqueId(value) : maskText(value)
    return typeof value === 'number' ? Number(String(value).replaceAll(/\d/g, '1')) : false
  }
  const keyOf = (nth: number) => `x${nth}`
  return redact(body, { keyOf, replace, isKey: (key) => keys.includes(key), preset })
}

/** Replaces data by dots. The names of a sandbox resource's fields say nothing about a person. */
export function dotted(value: unknown, of: 'body' | 'resource'): unknown {
  const isKey = (key: string) => of === 'resource' && /^[A-Za-z_]\w{0,40}$/.test(key)
  const own = of === 'resource' ? ({ root: 'documented' } as const) : {}
  return redact(value, { ...own, isKey, keyOf: (nth) => `${dots}${nth}`, replace: () => dots })
}
