// Carries out batches of calls on an open file: each batch is one transaction, and so one sync.
import { isWebhookError, reasonOf, WebhookError } from '../../../errors.ts'
import { AdminQueries } from './admin-queries.ts'
import { ArrivalQueries } from './arrival-queries.ts'
import type { Answer, BatchAnswer, Call, Gives, Handlers, Method, Takes } from './calls.ts'
import { Connection, type Statement } from './connection.ts'
import { copyStatement } from './copy.ts'
import { inTransaction, isDamage, isFatal } from './driver.ts'
import { damaged } from './intact.ts'
import { Lanes } from './lanes.ts'
import type { Owned } from './opening.ts'
import { LibraryGuard } from './second-library.ts'
import { WalCheckpoint } from './wal-checkpoint.ts'
import { WorkerQueries } from './worker-queries.ts'

/** They change nothing, so one that fails leaves nothing that the others must not commit. */
const reads: readonly Method[] = ['find', 'stats', 'lapsed']

export class Batches {
  readonly #owned: Owned
  readonly #connection: Connection
  readonly #handlers: Handlers
  readonly #log: WalCheckpoint
  readonly #epoch: Statement<{ readonly value: unknown }>
  readonly #setting: Statement<object>
  readonly #libraries: LibraryGuard | undefined
  /** Whoever only looked until now goes on there once it writes. */
  #writing: Batches | undefined

  constructor(owned: Owned) {
    this.#owned = owned
    this.#connection = new Connection(owned.db)
    this.#handlers = handlersOf(this.#connection, owned.epoch)
    this.#log = new WalCheckpoint(this.#connection, { isOwner: owned.epoch !== undefined })
    const { path, epoch } = owned
    this.#libraries = path === undefined ? undefined : new LibraryGuard(path, epoch !== undefined)
    this.#setting = this.#connection.statement('select 1 from idv_settings where name = ?')
    this.#epoch = this.#connection.statement("select value from idv_settings where name = 'epoch'")
  }

  /** Never throws: the message holds SQLite's words and ours, and no data. */
  carryOut(calls: readonly Call[]): BatchAnswer {
    if (this.#writing) return this.#writing.carryOut(calls)
    try {
      let erased = 0
      this.#log.assertSound()
      this.#libraries?.assertAlone()
      const isLook = calls.every((call) => this.#isLook(call))
      if (!isLook && this.#owned.forWriting) {
        this.#writing = new Batches(this.#owned.forWriting())
        return this.#writing.carryOut(calls)
      }
      const answers = this.#connection.transaction(
        () => {
          this.#assertOwner()
          const all = calls.map((call) => {
            const answer = this.#answer(call)
            if (answer.ok) erased += erasedBy(call, answer)
            return answer
          })
          this.#libraries?.assertAlone()
          return all
        },
        { isReading: isLook },
      )
      // Whoever only looks leaves the log alone: it may be another file's.
      if (!isLook) this.#log.worked(erased > 0)
      return { ok: true, answers }
    } catch (error) {
      const { path } = this.#owned
      const reason = path !== undefined && isDamage(error) ? damaged(path, false, error) : error
      const code = isWebhookError(reason) ? reason.code : 'STORE_FAILED'
      const fatal = isFatal(error) || this.#libraries?.broken !== undefined
      return { ok: false, code, message: reasonOf(reason), fatal }
    }
  }

  /** An inbox recalls settings as it opens, which writes those that are not there. */
  #isLook<M extends Method>({ method, argument }: Call<M>): boolean {
    if (reads.includes(method)) return true
    return (
      method === 'recall' && this.#setting.get((argument as Takes<'recall'>).name) !== undefined
    )
  }

  close(): void {
    if (this.#writing) {
      this.#writing.close()
      return
    }
    this.#log.close()
    this.#owned.close()
  }

  /** Reads travel with deliveries, which must not fail for them. */
  #answer<M extends Method>({ method, argument }: Call<M>): Answer<M> {
    try {
      return { ok: true, value: this.#handlers[method](argument) }
    } catch (error) {
      const isHarmless = reads.includes(method) && inTransaction(this.#connection.db)
      if (!isHarmless || isFatal(error)) throw error
      return { ok: false, message: reasonOf(error) }
    }
  }

  /** Where locks do not work, an owner that was replaced must not write. */
  #assertOwner(): void {
    const { epoch } = this.#owned
    if (epoch === undefined || this.#epoch.get()?.value === epoch) return
    throw new WebhookError('STORE_OWNED', 'another process has taken the inbox over: stop this one')
  }
}

function handlersOf(connection: Connection, epoch: number | undefined): Handlers {
  const lanes = new Lanes(connection)
  const admin = new AdminQueries(connection, lanes, epoch !== undefined)
  const work = epoch === undefined ? undefined : { connection, lanes, admin, epoch }
  const copy: Handlers['copy'] = (call) => copyStatement(connection, call)
  return { ...adminHandlers(admin), copy, ...(work ? workHandlers(work) : refusals) }
}

type AdminMethod =
  | 'find'
  | 'reopen'
  | 'dismiss'
  | 'forget'
  | 'purge'
  | 'stats'
  | 'recall'
  | 'remember'
type WorkMethod = Exclude<Method, AdminMethod | 'copy'>

function adminHandlers(admin: AdminQueries): Pick<Handlers, AdminMethod> {
  return {
    find: (query) => admin.find(query),
    reopen: (reopening) => admin.reopen(reopening),
    dismiss: (asked) => admin.dismiss(asked),
    forget: (asked) => admin.forget(asked),
    purge: (purge) => admin.purge(purge),
    stats: (asked) => admin.stats(asked),
    recall: (setting) => admin.recall(setting),
    remember: (setting) => admin.remember(setting),
  }
}

function workHandlers(
  deps: ConstructorParameters<typeof WorkerQueries>[0],
): Pick<Handlers, WorkMethod> {
  const work = new WorkerQueries(deps)
  const arrivals = new ArrivalQueries(deps)
  return {
    insert: (entry) => arrivals.insert(entry),
    claim: (request) => work.claim(request),
    align: (alignment) => deps.lanes.align(alignment),
    renew: (renewal) => work.renew(renewal),
    lapsed: (asked) => work.lapsed(asked),
    checkpoint: (asked) => work.checkpoint(asked),
    settle: (settlement) => work.settle(settlement),
    assign: (assignment) => arrivals.assign(assignment),
  }
}

/** An operator's connection has no epoch, and so nothing to keep or claim with. */
function refuse(): never {
  throw new WebhookError('STORE_UNSUITABLE', "mode: 'operator' keeps and claims nothing")
}

const refusals: Pick<Handlers, WorkMethod> = {
  insert: refuse,
  claim: refuse,
  align: refuse,
  renew: refuse,
  lapsed: refuse,
  checkpoint: refuse,
  settle: refuse,
  assign: refuse,
}

/** Payloads that a call took away. */
function erasedBy<M extends Method>(
  { method }: Call<M>,
  answer: { readonly value: Gives<Method> },
) {
  const { value } = answer
  if (typeof value === 'object' && 'forgotten' in value) return value.forgotten
  if (method === 'assign') return Number(value === 'duplicate')
  return method === 'purge' && typeof value === 'object' && 'erased' in value ? value.erased : 0
}
