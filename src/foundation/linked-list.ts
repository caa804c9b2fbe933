// Objects in the order in which they came, of which any can leave at once.

/** An object that one list can hold; the list sets its fields. */
export interface Linked<Member> {
  isListed: boolean
  previous: Member | undefined
  next: Member | undefined
}

/** Allocates nothing as members come and go. */
export class LinkedList<Member extends Linked<Member>> {
  #first: Member | undefined
  #last: Member | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  /** The one that came first. */
  get first(): Member | undefined {
    return this.#first
  }

  /** Adds it as the last, unless it is in the list. */
  add(member: Member): void {
    if (member.isListed) return
    member.isListed = true
    this.#size += 1
    member.previous = this.#last
    if (this.#last) this.#last.next = member
    else this.#first = member
    this.#last = member
  }

  delete(member: Member): void {
    if (!member.isListed) return
    this.#size -= 1
    const { previous, next } = member
    if (previous) previous.next = next
    else this.#first = next
    if (next) next.previous = previous
    else this.#last = previous
    member.isListed = false
    member.previous = undefined
    member.next = undefined
  }
}
