// Entries at work in this process: their leases are alive, whatever time they state. Inboxes on one
// file share them, and each bundle of the process may have a copy of this module.
import { Bag, type Placed } from '../foundation/bag.ts'
import type { Work } from './work.ts'
import type { Lease } from './work-store.ts'

/** The shape is shared with other versions of this package. */
interface Holder extends Placed {
  /** The file of its entries. */
  readonly file: string
  leases(): readonly Lease[]
}

const holding = Symbol.for('idv-webhooks.inbox-leases')

function holdersOfProcess(): Bag<Holder> {
  const shared = globalThis as { [holding]?: Bag<Holder> }
  shared[holding] ??= new Bag()
  return shared[holding]
}

/** Entries claimed by one inbox and not yet settled. */
export class HeldWork {
  readonly #works = new Bag<Work>()
  readonly #file: () => string | undefined
  /** Among those of the process for as long as it holds anything. */
  #holder: Holder | undefined

  /** `file` gives the place of the entries, if several inboxes of the process may share it. */
  constructor(file: () => string | undefined) {
    this.#file = file
  }

  get size(): number {
    return this.#works.size
  }

  add(work: Work): void {
    this.#works.add(work)
    const file = this.#file()
    if (this.#holder || file === undefined) return
    this.#holder = { place: -1, file, leases: () => this.leases() }
    holdersOfProcess().add(this.#holder)
  }

  delete(work: Work): void {
    this.#works.delete(work)
    if (this.size === 0) this.#leave()
  }

  clear(): void {
    this.#works.clear()
    this.#leave()
  }

  leases(): readonly Lease[] {
    return this.#works.all().map(({ lease }) => lease)
  }

  /** With what other inboxes of this process hold on the same file. */
  everyLease(): readonly Lease[] {
    const file = this.#file()
    const others = holdersOfProcess()
      .all()
      .filter((one) => one !== this.#holder && one.file === file)
    return [...this.leases(), ...others.flatMap((one) => one.leases())]
  }

  #leave(): void {
    if (this.#holder) holdersOfProcess().delete(this.#holder)
    this.#holder = undefined
  }
}
