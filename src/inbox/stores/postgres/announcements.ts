// Wakes the other processes when there is something to claim, and is woken by them. Nothing depends
// on it but speed: a worker polls once a second.
import { sleep } from '../../../foundation/abortable.ts'
import type { PostgresListener } from './driver.ts'
import type { Statements } from './statements.ts'

const every = 20
/** Milliseconds that an opening waits to listen: fewer than a delivery waits for the opening. */
const openingLimit = 1_000
const limit = 10_000
const firstWait = 200
const maxWait = 5_000

/** Milliseconds between two announcements of a process that waits, and for which one counts. */
const waitsEvery = 4_000
const waitsFor = 10_000

export class Announcements {
  readonly #statements: Statements
  readonly #channel: string
  readonly #owner: { readonly id: number }
  #wake: () => void = () => {}
  #listener: PostgresListener | undefined
  #heard = new Set<(payload: string) => void>()
  #last = Number.NEGATIVE_INFINITY
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #next = new Set<'kept' | 'done'>()
  readonly #waiters = new Set<() => void>()
  #waiting: ReturnType<typeof setInterval> | undefined
  /** Until then another process waits for what is done. */
  #waitsUntil = 0
  #isOpen = false
  #isRetrying = false

  constructor(
    statements: Statements,
    { channel, owner }: { readonly channel: string; readonly owner: { readonly id: number } },
  ) {
    this.#statements = statements
    this.#channel = channel
    this.#owner = owner
  }

  wake(): void {
    this.#wake()
  }

  async open(wake: () => void, listens: boolean): Promise<void> {
    this.#wake = wake
    this.#isOpen = true
    if (listens) await this.#listen(openingLimit).catch(() => void this.#listenAgain())
  }

  /** Tells whether announcements arrive here: a pooler in transaction mode loses them. */
  async isHeard(limit: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const test = `test ${this.#owner.id}`
    const heard = (payload: string) => payload === test && resolve(true)
    this.#heard.add(heard)
    const timer = setTimeout(() => resolve(false), limit)
    await this.#send(test)
    const isHeard = await promise
    clearTimeout(timer)
    this.#heard.delete(heard)
    return isHeard
  }

  /**
   * Notifies the other processes soon. Never within the transaction that keeps: a commit that
   * notifies holds a lock of the whole cluster, and then all commits wait for each other.
   */
  announce(what: 'kept' | 'done' = 'kept'): void {
    if (!this.#isOpen) return
    this.#next.add(what)
    if (this.#timer) return
    const wait = Math.max(0, this.#last + every - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#last = performance.now()
      for (const one of this.#next) this.#say(one)
      this.#next.clear()
    }, wait)
    this.#timer.unref?.()
  }

  /** Wakes the waiters here; the other processes only if one of them has said that it waits. */
  done(): void {
    for (const heard of this.#waiters) heard()
    if (performance.now() < this.#waitsUntil) this.announce('done')
  }

  /** Calls `heard` when entries were done, until the returned function is called. */
  onDone(heard: () => void): () => void {
    this.#waiters.add(heard)
    if (this.#waiters.size === 1) {
      this.#say('waits')
      this.#waiting = setInterval(() => this.#say('waits'), waitsEvery)
    }
    return () => {
      this.#waiters.delete(heard)
      if (this.#waiters.size === 0) clearInterval(this.#waiting)
    }
  }

  /** A lost announcement costs a second: workers and waiters poll. */
  #say(what: string): void {
    this.#send(`${what} ${this.#owner.id}`).catch(() => {})
  }

  async close(limit: number): Promise<void> {
    this.#isOpen = false
    clearTimeout(this.#timer)
    const listener = this.#listener
    if (!listener) return
    await this.#statements.within(limit, (over) => listener.close(over)).catch(() => {})
  }

  async #send(payload: string): Promise<void> {
    const sql =
      "select set_config('synchronous_commit', 'off', true), pg_notify($1::text, $2::text)"
    await this.#statements.run(sql, [this.#channel, payload])
  }

  /** Tries once. After its time limit the attempt must not succeed, because another one follows. */
  async #listen(within: number): Promise<void> {
    const { driver } = this.#statements
    const heard = (payload: string) => this.#onNotification(payload)
    await this.#statements.within(within, async (signal) => {
      let listener: PostgresListener | undefined
      const lost = () => {
        if (listener !== this.#listener) return
        this.#listener = undefined
        void this.#listenAgain()
      }
      listener = await driver.listen?.(this.#channel, heard, lost, signal)
      // The time is over, or the store was closed: the connection would keep the process alive.
      if (signal.aborted || !this.#isOpen) await listener?.close()
      else this.#listener = listener
    })
  }

  /** One attempt at a time: after a failover connections are scarce. */
  async #listenAgain(): Promise<void> {
    if (this.#isRetrying) return
    this.#isRetrying = true
    for (let wait = firstWait; this.#isRetrying; wait = Math.min(wait * 2, maxWait)) {
      // A random delay, so that after a failover not all processes connect at once.
      await sleep(wait * (0.5 + Math.random()), undefined, { ref: false })
      if (!this.#isOpen) break
      try {
        await this.#listen(limit)
        this.#isRetrying = false
        // Announcements in between were missed.
        this.#wake()
      } catch {
        // Tried again until the store is closed.
      }
    }
    this.#isRetrying = false
  }

  #onNotification(payload: string): void {
    for (const heard of this.#heard) heard(payload)
    const [what, owner] = payload.split(' ')
    if (owner === String(this.#owner.id)) return
    if (what === 'kept') this.#wake()
    else if (what === 'waits') this.#waitsUntil = performance.now() + waitsFor
    else if (what === 'done') for (const heard of this.#waiters) heard()
  }
}
