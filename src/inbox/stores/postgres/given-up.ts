// Sessions of statements that nobody waits for any more. While one waits at the server for a lock, or for
// a standby, the server does not notice that its client has left, and the pool opens another.
import { statementError } from './statements.ts'

/** Milliseconds for which a look at the server is believed. */
const believed = 1_000

/**
 * Those of these sessions that still run; who waits for its client ends as soon as it notices. A pooler
 * gives its clients numbers of its own, as `$2` then is: all that wait of the same role.
 */
const stillThere = `select pid from pg_catalog.pg_stat_activity
  where state = 'active' and pid <> pg_backend_pid()
  and case when pg_backend_pid() = $2::int
    then pid = any($1::int[]) and wait_event_type is distinct from 'Client'
    else usename = current_user and datname = current_database() and wait_event_type in ('Lock', 'IPC')
  end`

/** Asks the server in bounded time which of these sessions still run. */
export type AskServer = (sql: string, pids: readonly number[]) => Promise<readonly number[]>

/** Counts sessions that were given up, so that they are no more than the pool may have. */
export class GivenUp {
  readonly #most: number
  readonly #ask: AskServer
  readonly #pids = new Set<number>()
  #look: Promise<void> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(most: number, ask: AskServer) {
    this.#most = most
    this.#ask = ask
  }

  /** A statement was given up in this session. */
  add(pid: unknown): void {
    // A client that does not tell is not counted.
    if (typeof pid === 'number') this.#pids.add(pid)
  }

  /** @throws WebhookError `STORE_TIMEOUT` while as many still wait at the server as the pool may have */
  async assertFew(): Promise<void> {
    if (this.#pids.size < this.#most) return
    if (performance.now() - this.#lookedAt >= believed) {
      this.#look ??= this.#lookAgain().finally(() => {
        this.#look = undefined
      })
      await this.#look
    }
    if (this.#pids.size < this.#most) return
    const message = `${this.#pids.size} statements that were given up still wait at the server, for a lock or a standby: pg_stat_activity shows for what`
    throw statementError('STORE_TIMEOUT', message)
  }

  async #lookAgain(): Promise<void> {
    const asked = [...this.#pids]
    try {
      const there = await this.#ask(stillThere, asked)
      for (const pid of asked) this.#pids.delete(pid)
      for (const pid of there) this.#pids.add(pid)
      this.#lookedAt = performance.now()
    } catch {
      // The server cannot be asked, and might be another by now: its next statement tells.
      this.#pids.clear()
    }
  }
}
