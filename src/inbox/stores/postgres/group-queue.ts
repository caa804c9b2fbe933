// Sends calls in groups: calls that arrive while one statement is under way form the next group, so
// that no call waits for a timer.
import { nextTurn } from '../../../host/runtime.ts'
import { isRefused, statementError } from './statements.ts'

interface QueuedCall<Call, Answer> {
  readonly call: Call
  readonly bytes: number
  release?: () => void
  resolve(answer: Answer): void
  reject(error: unknown): void
}

const maxCalls = 256
const maxBytes = 4 * 1024 ** 2

export class GroupQueue<Call, Answer> {
  readonly #send: (calls: readonly Call[]) => Promise<readonly Answer[]>
  readonly #queue: QueuedCall<Call, Answer>[] = []
  #isSending = false

  constructor(send: (calls: readonly Call[]) => Promise<readonly Answer[]>) {
    this.#send = send
  }

  /** Resolves after the commit; once `signal` is aborted a call that is not yet sent is dropped. */
  call(call: Call, bytes = 0, signal?: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const queued: QueuedCall<Call, Answer> = { call, bytes, resolve, reject }
    if (signal) {
      const drop = () => {
        const at = this.#queue.indexOf(queued)
        if (at === -1) return
        this.#queue.splice(at, 1)
        reject(statementError('STORE_FAILED', 'the caller stopped waiting for the answer'))
      }
      signal.addEventListener('abort', drop, { once: true })
      queued.release = () => signal.removeEventListener('abort', drop)
    }
    this.#queue.push(queued)
    if (!this.#isSending) void this.#sendAll()
    return promise
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    // Calls of the same turn belong to the same group: the first must wait for the others.
    await nextTurn()
    while (this.#queue.length > 0) await this.#answer(this.#take())
    this.#isSending = false
  }

  #take(): readonly QueuedCall<Call, Answer>[] {
    let all = 0
    const end = this.#queue.findIndex(({ bytes }, at) => {
      all += bytes
      return at === maxCalls || (at > 0 && all > maxBytes)
    })
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end)
  }

  async #answer(group: readonly QueuedCall<Call, Answer>[]): Promise<void> {
    try {
      const answers = await this.#send(group.map(({ call }) => call))
      for (const [at, { release, resolve, reject }] of group.entries()) {
        release?.()
        const answer = answers[at]
        if (answer !== undefined) resolve(answer)
        else reject(statementError('STORE_FAILED', 'Postgres returned no row for this call'))
      }
    } catch (error) {
      // One rejected call must not fail the others: each is sent by itself.
      if (isRefused(error) && group.length > 1) for (const one of group) await this.#answer([one])
      else {
        for (const { release, reject } of group) {
          release?.()
          reject(error)
        }
      }
    }
  }
}
