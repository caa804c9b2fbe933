// The sender of a campaign: one event after the other for each entity, each sent again until it is
// acknowledged, at the pace that the workers keep.
import { setTimeout as sleep } from 'node:timers/promises'
import { sign } from 'idv-webhooks'

export const secret = 'a-secret-of-the-campaign'

export class Load {
  /** Acknowledged events of each entity, in their order. */
  readonly acked = new Map<string, string[]>()
  refused = 0
  count = 0
  /** While true nothing new is sent. */
  isPaused = false
  readonly #port: () => number | undefined
  #isOver = false
  #sending: Promise<unknown> = Promise.resolve()

  constructor(port: () => number | undefined) {
    this.#port = port
  }

  start(senders: number): void {
    this.#sending = Promise.all(Array.from({ length: senders }, (_, at) => this.#sendAs(at)))
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#sending
  }

  async #sendAs(sender: number): Promise<void> {
    for (let count = 0; !this.#isOver; count++) {
      while (this.isPaused && !this.#isOver) await sleep(50)
      const entity = `ver_${sender}_${count % 6}`
      const id = `evt_${sender}_${count}`
      const data = { id: entity, note: 'x'.repeat(800) }
      const text = JSON.stringify({ id, event: 'verification.approved', data })
      const body = new TextEncoder().encode(text)
      const headers = { ...(await sign(body, { secret })), 'content-type': 'application/json' }
      while (!(await this.#post(body, headers))) {
        this.refused++
        await sleep(50)
      }
      this.count++
      const ids = this.acked.get(entity) ?? []
      ids.push(id)
      this.acked.set(entity, ids)
    }
  }

  async #post(body: Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<boolean> {
    const port = this.#port()
    if (port === undefined) return false
    const signal = AbortSignal.timeout(10_000)
    try {
      const request = { method: 'POST', body, headers, signal }
      const reply = await fetch(`http://127.0.0.1:${port}/`, request)
      await reply.arrayBuffer()
      return reply.ok
    } catch {
      return false
    }
  }
}
