// The keys that deliveries are deduplicated by, each with the entry that was stored first under it.
import { mostConflicts } from '../../entry.ts'
import type { Alias, NewEntry } from '../../work-store.ts'
import { isMeant } from './row.ts'

interface Key {
  readonly entry: string
  /** Empty once the payload was erased: then its bytes can no longer be compared. */
  digest: string
  readonly name?: string
  readonly at: number
}

/** The result of looking up a new entry's keys. */
export type Meeting = { readonly kind: 'new' | 'duplicate' | 'alias' | 'conflict'; entry: string }

export class MemoryKeys {
  readonly #keys = new Map<string, Key>()

  /**
   * Compares an entry with the known keys of others, and remembers its own unless they were known.
   */
  meet({ key, digest, aliases = [], id, storedAt: at }: NewEntry): Meeting {
    const first = key === undefined ? undefined : this.#keys.get(key)
    if (first && first.entry !== id) {
      const isSame = first.digest === digest || first.digest === ''
      return { kind: isSame ? 'duplicate' : 'conflict', entry: first.entry }
    }
    const other = this.#otherName(aliases, id)
    if (key !== undefined) this.#keys.set(key, { entry: other ?? id, digest, at })
    if (other !== undefined) return { kind: 'alias', entry: other }
    for (const { key: same, name } of aliases) {
      if (!this.#keys.has(same)) this.#keys.set(same, { entry: id, digest, name, at })
    }
    return { kind: 'new', entry: id }
  }

  /** Whether these bytes are the first of their kind under a key that has other ones. */
  addConflict({ id, key, digest, storedAt: at }: NewEntry): boolean {
    const known = [...this.#keys.keys()].filter((one) => one.startsWith(`${key} `))
    if (known.includes(`${key} ${digest}`) || known.length >= mostConflicts) return false
    this.#keys.set(`${key} ${digest}`, { entry: id, digest, at })
    return true
  }

  isKeyOf(key: string, id: string): boolean {
    return [...this.#keys].some(([known, { entry }]) => entry === id && isMeant(known, key))
  }

  forget(id: string): void {
    for (const key of this.#keys.values()) if (key.entry === id) key.digest = ''
  }

  /** Deletes at most `limit` keys from before `before`, and returns how many. */
  purge(before: number, limit: number): number {
    let deleted = 0
    for (const [key, { at }] of this.#keys) {
      if (at < before && deleted < limit) deleted += Number(this.#keys.delete(key))
    }
    return deleted
  }

  #otherName(aliases: readonly Alias[], id: string): string | undefined {
    return aliases
      .map(({ key, name }) => ({ name, known: this.#keys.get(key) }))
      .find(({ name, known }) => known && known.name !== name && known.entry !== id)?.known?.entry
  }
}
