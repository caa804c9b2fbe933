// Ids, tokens and dice that follow from a seed: equal seeds and calls give equal values. Not for
// secrets of production.
import { hash } from 'node:crypto'
import { encode } from '../../src/signature/encoding.ts'

export class SeededRandom {
  #seed: string | number
  #drawn = 0

  constructor(seed: string | number) {
    this.#seed = seed
  }

  get seed(): string | number {
    return this.#seed
  }

  /** A whole number from `min` to `max`, both included. */
  int(min: number, max: number): number {
    return min + Math.floor(this.die(this.#next()) * (max - min + 1))
  }

  /** 24 random bytes in base64url. */
  token(): string {
    return encode(this.#digest(this.#next()).subarray(0, 24), 'base64url')
  }

  /** An id in the shape of a version 4 UUID. */
  uuid(): string {
    const bytes = this.#digest(this.#next()).subarray(0, 16)
    const variant = '89ab'[(bytes[8] ?? 0) & 3]
    const shape = /^(.{8})(.{4}).(.{3}).(.{3})(.*)$/
    return encode(bytes, 'hex').replace(shape, `$1-$2-4$3-${variant}$4-$5`)
  }

  /** A number from 0 up to, but not including, 1; it depends only on the seed and the name. */
  die(name: string): number {
    return this.#digest(name).readUInt32BE() / 2 ** 32
  }

  dump(): number {
    return this.#drawn
  }

  load(seed: string | number, drawn: number): void {
    this.#seed = seed
    this.#drawn = drawn
  }

  #next(): string {
    return `drawn ${++this.#drawn}`
  }

  #digest(name: string): Buffer {
    return hash('sha256', `${this.#seed}/${name}`, 'buffer')
  }
}
