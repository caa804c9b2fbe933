// The claims of one process: where in the index they begin, and which leases to give back if an
// answer is lost.

import type { ClaimRequest, ClaimResult } from '../../work-store.ts'
import { toClaimed, toNumber } from './rows.ts'
import { type Statements, statementError } from './statements.ts'

/** Milliseconds within which other processes commit what they keep; a claim looks that far back. */
const slack = 3_000

/** Milliseconds between two claims that read the whole index. */
const wholeEvery = 1_000

/** Milliseconds between two claims that wait for a lane that deliveries hold. */
const waitEvery = 100

/**
 * The earliest time at which a lane may be due. Below it the index holds only dead rows, which a
 * long transaction anywhere in the database keeps from being removed: reading them at every claim
 * would make claims slower the longer that lasts.
 */
class ClaimWindow {
  #from = 0
  /** The lowest due time that a claim under way may not have seen. */
  #lowered = Number.POSITIVE_INFINITY
  #whole = Number.NEGATIVE_INFINITY

  /** Where the next claim begins; 0 is the whole index. */
  next(): number {
    const isWhole = performance.now() - this.#whole >= wholeEvery
    if (isWhole) this.#whole = performance.now()
    this.#lowered = Number.POSITIVE_INFINITY
    return isWhole ? 0 : Math.max(0, this.#from - slack)
  }

  /** Records that no lane is due before `next`, except lanes that became due during the claim. */
  claimed({ now }: ClaimRequest, next = now): void {
    this.#from = Math.min(now, next, this.#lowered)
  }

  lower(due: number | undefined): void {
    if (due === undefined) return
    this.#from = Math.min(this.#from, due)
    this.#lowered = Math.min(this.#lowered, due)
  }

  reset(): void {
    this.#whole = Number.NEGATIVE_INFINITY
  }
}

export class OwnerClaims {
  readonly window = new ClaimWindow()
  readonly #statements: Statements
  readonly #owner: { readonly id: number }
  #ticket = 0
  #waited = Number.NEGATIVE_INFINITY
  /** The tenant that was served last: tenants take turns. */
  #served = ''
  /** Tickets of claims whose answers were lost: they may have leased entries. */
  #lost: number[] = []

  constructor(statements: Statements, owner: { readonly id: number }) {
    this.#statements = statements
    this.#owner = owner
  }

  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const asked = { ...request, now: Math.floor(request.now) }
    await this.#recover(asked.now)
    const result = await this.#claim(asked, false)
    const { entries, next } = result
    const isPassedOver = entries.length < asked.limit && next !== undefined && next <= asked.now
    if (!isPassedOver || performance.now() - this.#waited < waitEvery) return result
    this.#waited = performance.now()
    // Entries that are already leased must not be lost because one lane could not be locked in
    // time.
    const more = await this.#claim({ ...asked, limit: 1 }, true).catch(() => undefined)
    return more ? { ...more, entries: [...entries, ...more.entries] } : result
  }

  async #claim(request: ClaimRequest, waits: boolean): Promise<ClaimResult> {
    const ticket = ++this.#ticket
    const from = waits ? 0 : this.window.next()
    const { now, limit, until } = request
    const lease = [this.#owner.id, ticket, now, Math.floor(until)]
    try {
      const values = [...lease, limit, from, waits, this.#served]
      const rows = await this.#statements.call('claim', values)
      // An answer ends with a row without an entry: without it, entries may be leased and unknown.
      if (rows.length === 0) {
        throw statementError('STORE_FAILED', 'a claim was answered without its rows')
      }
      const leased = rows.slice(0, -1)
      const last = rows.at(-1)
      const next = toNumber(last?.next)
      if (!waits) this.window.claimed(request, next)
      if (typeof last?.served === 'string') this.#served = last.served
      const entries = leased.map((row) => toClaimed(row, this.#owner.id))
      return { entries, ...(next !== undefined && { next }) }
    } catch (error) {
      this.#lost.push(ticket)
      throw error
    }
  }

  async #recover(now: number): Promise<void> {
    if (this.#lost.length === 0) return
    const lost = [...this.#lost]
    const values = [this.#owner.id, this.#ticket, JSON.stringify(lost), now]
    await this.#statements.call('recover', values)
    this.#lost = this.#lost.filter((ticket) => !lost.includes(ticket))
    this.window.reset()
  }
}
