// Objects that come and go all the time: deliveries under way, entries at work.

/** An object that one Bag can hold. */
export interface Placed {
  /** Its index in the bag that holds it, which sets it; -1 outside of one. */
  place: number
}

/**
 * An unordered collection that allocates nothing as members come and go. A Set builds a new table
 * whenever it has shrunk or has seen enough deletions, and V8 links the old table to the new one:
 * once one of them is old, each later one survives until a full collection.
 */
export class Bag<Member extends Placed> {
  readonly #members: Member[] = []

  get size(): number {
    return this.#members.length
  }

  /** Adds it unless it is in the bag. */
  add(member: Member): void {
    if (member.place < 0) member.place = this.#members.push(member) - 1
  }

  /** False when it was not there. */
  delete(member: Member): boolean {
    const { place } = member
    if (place < 0) return false
    member.place = -1
    const last = this.#members.pop()
    if (last && last !== member) {
      this.#members[place] = last
      last.place = place
    }
    return true
  }

  /** The members now, for one goes through them while they leave. */
  all(): readonly Member[] {
    return [...this.#members]
  }

  clear(): void {
    for (const member of this.#members.splice(0)) member.place = -1
  }
}
