// Ids, tokens and dice that follow from a seed: the same seed and the same calls give the same
// values. Not for secrets of production.
import { encode } from '../../src/signature/encoding.ts'

/** The state of the generator: four 32-bit numbers. */
export type RandomState = [number, number, number, number]

export class SeededRandom {
  #seed: string | number
  #state: RandomState

  constructor(seed: string | number) {
    this.#seed = seed
    this.#state = spread(String(seed))
  }

  get seed(): string | number {
    return this.#seed
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor((this.#next() / 2 ** 32) * (max - min + 1))
  }

  /** 24 random bytes in base64url. */
  token(): string {
    return encode(this.#bytes(24), 'base64url')
  }

  /** An id in the shape of a version 4 UUID. */
  uuid(): string {
    const digits = encode(this.#bytes(16), 'hex')
    const variant = '89ab'[this.#next() >>> 30]
    return [
      digits.slice(0, 8),
      digits.slice(8, 12),
      `4${digits.slice(13, 16)}`,
      `${variant}${digits.slice(17, 20)}`,
      digits.slice(20),
    ].join('-')
  }

  /** From 0 up to, but not including, 1; it depends on the seed and the name alone. */
  die(name: string): number {
    return step(spread(`${this.#seed}/${name}`))[0] / 2 ** 32
  }

  dump(): RandomState {
    return [...this.#state]
  }

  load(seed: string | number, state: RandomState): void {
    this.#seed = seed
    this.#state = [...state]
  }

  #next(): number {
    const [value, after] = step(this.#state)
    this.#state = after
    return value
  }

  #bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => this.#next() >>> 24)
  }
}

/** sfc32: small, fast and well spread. */
function step([a, b, c, d]: RandomState): [value: number, after: RandomState] {
  const value = (((a + b) | 0) + d) | 0
  const after: RandomState = [
    b ^ (b >>> 9),
    (c + (c << 3)) | 0,
    (((c << 21) | (c >>> 11)) + value) | 0,
    (d + 1) | 0,
  ]
  return [value >>> 0, after]
}

/** A text as a state, stirred until every letter has reached every part. */
function spread(text: string): RandomState {
  const part = (salt: number) => {
    let hash = 0x811c9dc5
    for (const letter of `${salt}${text}`) {
      hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x01000193)
      hash = (hash << 13) | (hash >>> 19)
    }
    return hash | 0
  }
  let state: RandomState = [part(1), part(2), part(3), 1]
  for (let turn = 0; turn < 16; turn++) state = step(state)[1]
  return state
}
