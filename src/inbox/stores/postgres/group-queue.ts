// Calls that travel as a group: while one statement is under way, what comes queues up, so groups
// form by themselves and nobody waits for a timer.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isRefused, statementError } from './statements.ts'

interface QueuedCall<Call, Answer> {
  readonly call: Call
  readonly bytes: number
  resolve(answer: Answer): void
  reject(error: unknown): void
}

const mostCalls = 256
const mostBytes = 4 * 1024 ** 2

/** Sends calls in groups, one group at a time. */
export class GroupQueue<Call, Answer> {
  readonly #send: (calls: readonly Call[]) => Promise<readonly Answer[]>
  #queue: QueuedCall<Call, Answer>[] = []
  #isSending = false

  constructor(send: (calls: readonly Call[]) => Promise<readonly Answer[]>) {
    this.#send = send
  }

  /** Resolves after the commit; once `signal` is aborted a call that is not yet sent is dropped. */
  call(call: Call, bytes = 0, signal?: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const drop = () => {
        const at = this.#queue.indexOf(waiting)
        if (at === -1) return
        this.#queue.splice(at, 1)
        reject(statementError('STORE_FAILED', 'the caller stopped waiting for the answer'))
      }
      const waiting = { call, bytes, resolve, reject }
      signal?.addEventListener('abort', drop, { once: true })
      const end = () => signal?.removeEventListener('abort', drop)
      waiting.resolve = (answer) => {
        end()
        resolve(answer)
      }
      waiting.reject = (error) => {
        end()
        reject(error)
      }
      this.#queue.push(waiting)
      void this.#pump()
    })
  }

  async #pump(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    // Calls of the same turn belong to the same group: the first must not travel alone.
    await nextTurn()
    for (let group = this.#take(); group.length > 0; group = this.#take()) {
      await this.#answer(group)
    }
    this.#isSending = false
  }

  #take(): QueuedCall<Call, Answer>[] {
    let bytes = 0
    const end = this.#queue.findIndex((waiting, at) => {
      bytes += waiting.bytes
      return at === mostCalls || (at > 0 && bytes > mostBytes)
    })
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end)
  }

  async #answer(group: readonly QueuedCall<Call, Answer>[]): Promise<void> {
    try {
      const answers = await this.#send(group.map(({ call }) => call))
      const missing = () => statementError('STORE_FAILED', 'Postgres returned no row for this call')
      for (const [at, { resolve, reject }] of group.entries()) {
        const answer = answers[at]
        answer === undefined ? reject(missing()) : resolve(answer)
      }
    } catch (error) {
      // One refused call must not fail the others: each is sent alone.
      if (isRefused(error) && group.length > 1) for (const one of group) await this.#answer([one])
      else for (const { reject } of group) reject(error)
    }
  }
}
