// Sessions of statements that nobody waits for any more. While one waits at the server for a lock, or for
// a standby, the server does not notice that its client has left, and the pool opens another.
import { statementError } from './statements.ts'

/** Milliseconds for which a look at the server is believed. */
const believed = 1_000

/**
 * Those of these sessions that still run; who waits for its client ends as soon as it notices. A pooler
 * gives its clients numbers of its own, as `$2` then is: all sessions of the same role that wait, without
 * their numbers. Some of those are the application's. After `set role`, and where activities are not
 * tracked, the server shows neither state nor text, but the locks say who is in a transaction, and who
 * waits.
 */
const stillThere = `select case when pg_backend_pid() = $2::int then a.pid end as pid,
    case when a.state = 'active' then left(a.query, 100) end as text,
    case when a.state = 'active'
      then extract(epoch from clock_timestamp() - a.query_start)::float8 * 1000::float8 end as ms
  from pg_catalog.pg_stat_activity a
  where coalesce(a.state, 'disabled') in ('active', 'disabled') and a.pid <> pg_backend_pid()
  and case when pg_backend_pid() = $2::int
    then a.pid = any($1::int[]) and a.wait_event_type is distinct from 'Client'
      and (a.state = 'active' or exists (select from pg_catalog.pg_locks l where l.pid = a.pid))
    else a.usename = session_user and a.datname = current_database() and (a.wait_event_type in ('Lock', 'IPC')
      or exists (select from pg_catalog.pg_locks l where l.pid = a.pid and not l.granted))
  end`

/** A session at the server. */
interface Session {
  /** Null where the server's numbers are not known. */
  readonly pid: number | null
  /** How its statement begins; null where the server does not show it. */
  readonly text: string | null
  /** Milliseconds for which that runs; null where the server does not show it. */
  readonly ms: number | null
}

/** Asks the server in bounded time which of these sessions still run. */
export type AskServer = (sql: string, pids: readonly number[]) => Promise<readonly Session[]>

/** A statement that was given up, and when by `performance.now()`. */
interface GivenUpStatement {
  readonly pid: number
  readonly text: string
  readonly at: number
}

/** Counts sessions that were given up, so that they are no more than the pool may have. */
export class GivenUp {
  readonly #most: number
  readonly #ask: AskServer
  #statements: readonly GivenUpStatement[] = []
  #look: Promise<void> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(most: number, ask: AskServer) {
    this.#most = most
    this.#ask = ask
  }

  /** A statement was given up in this session. */
  add(pid: unknown, text: string): void {
    // A client that does not tell is not counted.
    if (typeof pid !== 'number') return
    this.#statements = [...this.#statements, { pid, text, at: performance.now() }]
  }

  /**
   * A statement that none of them has is let through, so that a lock on one table does not silence the
   * signs of life. A transaction, that has no text yet, counts as all of them.
   *
   * @throws WebhookError `STORE_TIMEOUT` while as many still wait at the server as the pool may have, and
   * where it cannot be asked: nothing is forgotten then, for the pool may have no free place
   */
  async assertFew(text?: string): Promise<void> {
    const isTooMany = () =>
      this.#statements.length >= this.#most &&
      (text === undefined || this.#statements.some((one) => one.text === text))
    if (!isTooMany()) return
    if (performance.now() - this.#lookedAt >= believed) {
      this.#look ??= this.#lookAgain().finally(() => {
        this.#look = undefined
      })
      await this.#look
    }
    if (!isTooMany()) return
    const message = `${this.#statements.length} statements that were given up still wait at the server, for a lock or a standby: pg_stat_activity shows for what`
    throw statementError('STORE_TIMEOUT', message)
  }

  async #lookAgain(): Promise<void> {
    const asked = this.#statements
    const pids = asked.map(({ pid }) => pid)
    const now = performance.now()
    const sessions = [...(await this.#ask(stillThere, pids).catch(unasked))]
    const still = asked.filter((statement) => {
      const at = sessions.findIndex((session) => isOf(session, statement, now))
      if (at >= 0) sessions.splice(at, 1)
      return at >= 0
    })
    this.#lookedAt = performance.now()
    const added = this.#statements.filter((statement) => !asked.includes(statement))
    this.#statements = [...still, ...added]
  }
}

function unasked(error: unknown): never {
  if ((error as Error | null)?.name !== 'TimeoutError') throw error
  const message =
    'statements that were given up may still wait at the server, and it could not be asked in time: the pool has no free connection, or the server does not answer'
  throw statementError('STORE_TIMEOUT', message)
}

/**
 * By its number, without that by its text; and it began before the statement was given up, for a later
 * session can have the same number.
 */
function isOf({ pid, text, ms }: Session, statement: GivenUpStatement, now: number): boolean {
  if (ms !== null && ms < now - statement.at) return false
  if (pid !== null) return pid === statement.pid
  return text === null || (text !== '' && statement.text.startsWith(text))
}
