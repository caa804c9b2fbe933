// Two receivers and two workers on one Postgres under load, while they are killed and stopped, the
// server crashes, and connections are cut. Gives the verdict over all that was acknowledged.
import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sign } from 'idv-webhooks'
import pg from 'pg'
import { postgres18 } from '../engines.ts'
import { type FaultProxy, startProxy } from '../proxy.ts'
import { freePort, startServer, temporary } from '../server.ts'
import type { ChildOptions } from './child.ts'
import { judge, type Line, type Stop, type Verdict } from './verdict.ts'

/** How much of it there is. */
export interface CampaignOptions {
  /** SIGKILLs of a process that is drawn by lot. */
  readonly kills: number
  /** Crashes of the server, with recovery. */
  readonly crashes: number
  /** Connections cut in place of the answer to a COMMIT. */
  readonly cuts: number
  /** Milliseconds for which a worker is stopped, and then goes on; 0 leaves it out. */
  readonly stop: number
  /** Milliseconds for which the network of a worker swallows everything; 0 leaves it out. */
  readonly blackHole: number
  /** It goes on until so many deliveries are acknowledged. */
  readonly least: number
  readonly senders?: number
  readonly say?: (text: string) => void
}

/** The verdict, and what was done. */
export interface CampaignReport extends Verdict {
  readonly kills: number
  readonly crashes: number
  readonly cuts: number
  readonly refused: number
  readonly seconds: number
  /** Milliseconds from the last delivery to the last effect. */
  readonly drained: number
}

const secret = 'a-secret-of-the-campaign'
const now = () => Number(process.hrtime.bigint() / 1_000_000n)

export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const campaign = new Campaign(options)
  try {
    return await campaign.run()
  } finally {
    await campaign.end()
  }
}

class Campaign {
  readonly #options: CampaignOptions
  readonly #folder = temporary('idv-campaign-')
  readonly #log = join(this.#folder, 'lines.jsonl')
  readonly #children = new Map<string, { process: ChildProcess; options: ChildOptions }>()
  readonly #acked = new Map<string, string[]>()
  readonly #stops: Stop[] = []
  readonly #done = { kills: 0, crashes: 0, cuts: 0, refused: 0 }
  #ends: (() => unknown)[] = []
  #server: Awaited<ReturnType<typeof startServer>> | undefined
  #proxy: FaultProxy | undefined
  #isSending = true

  constructor(options: CampaignOptions) {
    this.#options = options
  }

  async run(): Promise<CampaignReport> {
    const { least, say = () => {} } = this.#options
    writeFileSync(this.#log, '')
    await this.#startAll()
    const begun = performance.now()
    const sending = this.#send()
    const faults = [this.#killing(), this.#crashing(), this.#cutting(), this.#stopping()]
    await Promise.all(faults)
    while (this.#count() < least) {
      say(`${this.#count()} of ${least} acknowledged`)
      await sleep(2_000)
    }
    this.#isSending = false
    await sending
    const seconds = Math.round((performance.now() - begun) / 1_000)
    const drained = await this.#drain()
    return { ...(await this.#judge()), ...this.#done, seconds, drained }
  }

  async end(): Promise<void> {
    this.#isSending = false
    for (const { process } of this.#children.values()) process.kill('SIGKILL')
    for (const end of this.#ends) await end()
    await this.#server?.end()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #startAll(): Promise<void> {
    this.#server = await startServer(postgres18())
    const { url } = this.#server
    this.#proxy = await startProxy(url, (end) => this.#ends.push(end))
    await this.#query(
      'create table effects (n bigint generated always as identity, event text, entity text)',
    )
    const common = { log: this.#log, secret, max: 10, skew: 0, url }
    const through = this.#proxy.url
    const all: ChildOptions[] = [
      { ...common, name: 'receiver 1', role: 'receiver', port: await freePort() },
      // Its clock is an hour ahead.
      { ...common, name: 'receiver 2', role: 'receiver', port: await freePort(), skew: 3_600_000 },
      { ...common, name: 'worker 1', role: 'worker', port: 0, url: through },
      { ...common, name: 'worker 2', role: 'worker', port: 0, max: 1, skew: 3_600_000 },
    ]
    await Promise.all(all.map((one) => this.#launch(one)))
  }

  async #launch(options: ChildOptions): Promise<void> {
    const child = fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(options)], {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    this.#children.set(options.name, { process: child, options })
    // One that is killed before it was ready is launched again by whoever killed it.
    await new Promise<void>((resolve) => {
      child.once('message', () => resolve())
      child.once('exit', () => resolve())
    })
  }

  async #send(): Promise<void> {
    const { senders = 12 } = this.#options
    await Promise.all(Array.from({ length: senders }, (_, at) => this.#sendAs(at)))
  }

  /** Sends one event after the other for entities of its own, each until it is acknowledged. */
  async #sendAs(sender: number): Promise<void> {
    for (let count = 0; this.#isSending; count++) {
      const entity = `ver_${sender}_${count % 6}`
      const id = `evt_${sender}_${count}`
      const data = { id: entity, note: 'x'.repeat(800) }
      const text = JSON.stringify({ id, event: 'verification.approved', data })
      const body = new TextEncoder().encode(text)
      const headers = { ...(await sign(body, { secret })), 'content-type': 'application/json' }
      while (!(await this.#post(body, headers))) await sleep(50)
      const ids = this.#acked.get(entity) ?? []
      ids.push(id)
      this.#acked.set(entity, ids)
    }
  }

  async #post(body: Uint8Array<ArrayBuffer>, headers: Record<string, string>): Promise<boolean> {
    const receivers = [...this.#children.values()].filter(({ options }) => options.port > 0)
    const port = receivers[randomInt(receivers.length)]?.options.port
    const signal = AbortSignal.timeout(10_000)
    const request = { method: 'POST', body, headers, signal }
    try {
      const reply = await fetch(`http://127.0.0.1:${port}/`, request)
      await reply.arrayBuffer()
      if (!reply.ok) this.#done.refused++
      return reply.ok
    } catch {
      this.#done.refused++
      return false
    }
  }

  async #killing(): Promise<void> {
    const names = [...this.#children.keys()]
    while (this.#done.kills < this.#options.kills) {
      await sleep(200 + Math.random() * 900)
      const child = this.#children.get(names[randomInt(names.length)] ?? '')
      if (!child || child.process.exitCode !== null) continue
      const { pid = 0 } = child.process
      const exited = new Promise((resolve) => child.process.once('exit', resolve))
      child.process.kill('SIGKILL')
      await exited
      this.#stops.push({ at: now(), pid })
      this.#done.kills++
      void this.#launch(child.options)
    }
  }

  async #crashing(): Promise<void> {
    while (this.#done.crashes < this.#options.crashes) {
      await sleep(4_000 + Math.random() * 4_000)
      await this.#server?.stop('SIGQUIT')
      await sleep(300)
      await this.#server?.start()
      this.#done.crashes++
    }
  }

  async #cutting(): Promise<void> {
    const before = () => this.#proxy?.lost ?? 0
    for (let left = this.#options.cuts; left > 0; left--) {
      await sleep(300 + Math.random() * 700)
      this.#proxy?.loseAnswerTo('commit')
    }
    this.#done.cuts = before()
  }

  async #stopping(): Promise<void> {
    const { stop, blackHole } = this.#options
    if (blackHole > 0) {
      await sleep(1_000)
      this.#proxy?.swallow(true)
      await sleep(blackHole)
      this.#proxy?.swallow(false)
    }
    if (stop === 0) return
    await sleep(2_000)
    const child = this.#children.get('worker 1')?.process
    if (!child?.pid) return
    this.#stops.push({ at: now(), pid: child.pid })
    child.kill('SIGSTOP')
    await sleep(stop)
    child.kill('SIGCONT')
  }

  /** Waits until nothing is open any more. */
  async #drain(): Promise<number> {
    const begun = performance.now()
    for (let left = 600; left > 0; left--) {
      const open = 'select count(*)::int as n from idv_inbox.lanes'
      const rows = await this.#query(open).catch(() => [{ n: 1 }])
      if (rows[0]?.n === 0) break
      await sleep(100)
    }
    return Math.round(performance.now() - begun)
  }

  async #judge(): Promise<Verdict> {
    const lines = readFileSync(this.#log, 'utf8').split('\n').flatMap(parsed)
    const effects = await this.#query('select event, entity from effects order by n')
    const [row] = await this.#query(
      `select (select count(*) from idv_inbox.entries)::int as entries,
        (select count(*) from idv_inbox.keys where name is null)::int as keys`,
    )
    return judge({
      acked: this.#acked,
      lines,
      stops: this.#stops,
      effects: effects as unknown as { event: string; entity: string }[],
      entries: Number(row?.entries),
      keys: Number(row?.keys),
    })
  }

  async #query(sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.#server?.url ?? '' })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  #count(): number {
    return [...this.#acked.values()].reduce((sum, { length }) => sum + length, 0)
  }
}

/** A line that a kill cut off is left out: its run ends with the process. */
function parsed(text: string): Line[] {
  try {
    return [JSON.parse(text) as Line]
  } catch {
    return []
  }
}
