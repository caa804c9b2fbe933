// A standby that lags is promoted after the primary's machine is gone: a synchronous one has all
// that was acknowledged, an asynchronous one must lose some, or nothing was tried.
import { setTimeout as sleep } from 'node:timers/promises'
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import pg from 'pg'
import { Cluster, queries } from './cluster.ts'

/** The acknowledged events, and those of them that the promoted standby lacks. */
export interface Loss {
  readonly acked: number
  readonly lost: number
}

export interface FailoverReport {
  readonly synchronous: Loss
  readonly asynchronous: Loss
}

export async function runFailover(rounds: number): Promise<FailoverReport> {
  const total = async (isSynchronous: boolean) => {
    const sum = { acked: 0, lost: 0 }
    for (let round = 0; round < rounds; round++) {
      const loss = await failOver(isSynchronous)
      sum.acked += loss.acked
      sum.lost += loss.lost
    }
    return sum
  }
  return { synchronous: await total(true), asynchronous: await total(false) }
}

async function failOver(isSynchronous: boolean): Promise<Loss> {
  const cluster = await Cluster.start(isSynchronous)
  try {
    const keeping = await Keeping.start(cluster.primary.url, isSynchronous)
    await sleep(1_000)
    // A synchronous primary waits for the standby, an asynchronous one does not.
    cluster.stream.hold(true)
    await sleep(700)
    const url = await cluster.failOver()
    const acked = await keeping.end()
    const rows = await queries(() => url)('select id from idv_inbox.entries')
    const there = new Set(rows.map(({ id }) => id))
    return { acked: acked.length, lost: acked.filter((id) => !there.has(id)).length }
  } finally {
    await cluster.end()
  }
}

/** Keeps entries until the primary is gone. */
class Keeping {
  readonly #acked: string[] = []
  readonly #running: Promise<unknown>
  readonly #close: () => Promise<unknown>

  private constructor(
    insert: (id: string, lane: string) => Promise<unknown>,
    close: () => Promise<unknown>,
  ) {
    this.#close = close
    let made = 0
    const keep = async () => {
      for (;;) {
        const id = `entry-${++made}`
        try {
          await insert(id, `lane-${made % 500}`)
        } catch {
          return
        }
        this.#acked.push(id)
      }
    }
    this.#running = Promise.all(Array.from({ length: 32 }, keep))
  }

  static async start(url: string, isSynchronous: boolean): Promise<Keeping> {
    const pool = new pg.Pool({ connectionString: url, connectionTimeoutMillis: 1_000 })
    const survives = isSynchronous ? 'failover' : 'power-cut'
    const store = postgresStore(fromPg(pool), { survives, timeout: 2_000, listen: false })
    await store.open(() => {})
    const insert = (id: string, lane: string) =>
      store.insert({ id, lane, key: id, digest: id, storedAt: Date.now(), ...payload })
    return new Keeping(insert, async () => {
      await store.close()
      await pool.end()
    })
  }

  /** The acknowledged events. */
  async end(): Promise<readonly string[]> {
    await this.#running
    await this.#close()
    return this.#acked
  }
}

const payload = {
  source: 'webhook',
  bytes: 2_048,
  metadata: new Uint8Array(300),
  body: new Uint8Array(2_048),
} as const
