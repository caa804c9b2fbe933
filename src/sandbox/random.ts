// Ids, tokens and dice that follow from a seed alone: the same seed and the same calls give the
// same values. Not for secrets of production.
import { encode } from '../signature/encoding.ts'
import type { EngineRandom } from './ports.ts'

/** A generator with a state that can be kept. */
export interface SandboxRandom extends EngineRandom {
  /** From 0 up to, but not including, 1. */
  float(): number
  pick<Item>(items: readonly Item[]): Item
  /** A die of its own for each name: it does not depend on what was drawn before. */
  die(name: string): number
}

type State = readonly [number, number, number, number]

export function createRandom(begun: string | number): SandboxRandom {
  let seed = begun
  let state = spread(String(seed))

  const next = () => {
    const [value, after] = step(state)
    state = after
    return value
  }
  const bytes = (count: number) => Uint8Array.from({ length: count }, () => next() >>> 24)
  const float = () => next() / 2 ** 32
  return {
    float,
    int: (min, max) => min + Math.floor(float() * (max - min + 1)),
    pick: (items) => items[Math.floor(float() * items.length)] as (typeof items)[number],
    die: (name) => step(spread(`${seed}/${name}`))[0] / 2 ** 32,
    token: () => encode(bytes(24), 'base64url'),
    uuid() {
      const digits = encode(bytes(16), 'hex')
      const variant = '89ab'[next() >>> 30]
      // The shape of a version 4 UUID.
      return [
        digits.slice(0, 8),
        digits.slice(8, 12),
        `4${digits.slice(13, 16)}`,
        `${variant}${digits.slice(17, 20)}`,
        digits.slice(20),
      ].join('-')
    },
    get seed() {
      return seed
    },
    state: () => [...state],
    restore(from, saved) {
      seed = from
      state = [...saved]
    },
  }
}

/** sfc32: small, fast and well spread; the state is four 32-bit numbers. */
function step([a, b, c, d]: State): [value: number, after: State] {
  const value = (((a + b) | 0) + d) | 0
  const after: State = [
    b ^ (b >>> 9),
    (c + (c << 3)) | 0,
    (((c << 21) | (c >>> 11)) + value) | 0,
    (d + 1) | 0,
  ]
  return [value >>> 0, after]
}

/** A text as a state, stirred until every letter has reached every part. */
function spread(text: string): State {
  let hash = 0x811c9dc5
  const parts = [1, 2, 3].map((salt) => {
    for (const letter of `${salt}${text}`) {
      hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193)
      hash = (hash << 13) | (hash >>> 19)
    }
    return hash | 0
  })
  let state: State = [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0, 1]
  for (let turn = 0; turn < 16; turn++) state = step(state)[1]
  return state
}
