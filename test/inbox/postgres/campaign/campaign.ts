// Two receivers and two workers on one Postgres under load, while they are killed and stopped, the
// server crashes, and connections are cut. Gives the verdict over all that was acknowledged.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postgres18 } from '../engines.ts'
import { type FaultProxy, startProxy } from '../proxy.ts'
import { startServer, temporary } from '../server.ts'
import type { ChildOptions } from './child.ts'
import { Cluster, type Query, queries } from './cluster.ts'
import { Load, secret } from './load.ts'
import { now, Processes } from './processes.ts'
import { steps } from './steps.ts'
import { judge, type Line, type Span, type Verdict } from './verdict.ts'

/** How much of it there is. */
export interface CampaignOptions {
  /** SIGKILLs of a process that is drawn by lot, and the longest time between two. */
  readonly kills: number
  readonly killEvery: number
  /** How often a process is killed at each named step. */
  readonly rounds: number
  /** Crashes of the server, with recovery, and the longest time between two. */
  readonly crashes: number
  readonly crashEvery: number
  /** Connections cut in place of the answer to a COMMIT, or to the statement that keeps. */
  readonly cuts: number
  /** Milliseconds for which a worker is stopped, and then goes on; 0 leaves it out. */
  readonly stop: number
  /** Milliseconds for which the network of a worker lets nothing through; 0 leaves it out. */
  readonly blackHole: number
  /** In the end the machine of the primary is gone, and a synchronous standby takes over. */
  readonly failOver: boolean
  /** It goes on until so many deliveries are acknowledged. */
  readonly least: number
  readonly say: (text: string) => void
}

/** The verdict, and what was done. */
export interface CampaignReport extends Verdict {
  readonly kills: number
  /** Kills at each step. */
  readonly steps: Readonly<Record<string, number>>
  readonly crashes: number
  readonly cuts: number
  /** Processes that ended by themselves. */
  readonly crashedProcesses: number
  readonly refused: number
  readonly seconds: number
  /** Milliseconds from the last delivery to the last effect. */
  readonly drained: number
}

/** More than this that waits to be handled, and the senders pause: workers must keep the pace. */
const backlog = 1_500

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
  readonly #processes = new Processes()
  readonly #load = new Load(() => this.#processes.port)
  readonly #proxies: FaultProxy[] = []
  readonly #outages: Span[] = []
  readonly #done = { kills: 0, crashes: 0, steps: {} as Record<string, number> }
  readonly #ends: (() => unknown)[] = []
  readonly #query: Query = queries(() => this.#url)
  #url = ''
  #cluster: Cluster | undefined
  #server: Awaited<ReturnType<typeof startServer>> | undefined
  #isOver = false

  constructor(options: CampaignOptions) {
    this.#options = options
  }

  async run(): Promise<CampaignReport> {
    await this.#start()
    const begun = performance.now()
    this.#load.start(24)
    const pacing = this.#pace()
    const faults = [this.#kill(), this.#killAtSteps(), this.#crash(), this.#cut(), this.#stop()]
    await Promise.all(faults)
    if (this.#options.failOver) await this.#failOver()
    while (this.#load.count < this.#options.least) await sleep(100)
    await this.#load.stop()
    const seconds = Math.round((performance.now() - begun) / 1_000)
    const drained = await this.#drain()
    this.#isOver = true
    await pacing
    const cuts = this.#proxies.reduce((sum, { lost }) => sum + lost, 0)
    const { refused } = this.#load
    const crashedProcesses = this.#processes.crashed
    const counts = { ...this.#done, cuts, refused, crashedProcesses, seconds, drained }
    return { ...(await this.#judge()), ...counts }
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#processes.end()
    await this.#load.stop()
    for (const end of this.#ends.reverse()) await end()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #start(): Promise<void> {
    writeFileSync(this.#log, '')
    if (this.#options.failOver) {
      this.#cluster = await Cluster.start(true)
      this.#server = this.#cluster.primary
      this.#ends.push(() => this.#cluster?.end())
    } else {
      const server = await startServer(postgres18())
      this.#server = server
      this.#ends.push(() => server.end())
    }
    this.#url = this.#server.url
    await this.#query(
      'create table effects (n bigint generated always as identity, event text, entity text)',
    )
    const hour = 3_600_000
    const all = [
      { name: 'receiver 1', role: 'receiver', max: 4, skew: 0 },
      { name: 'receiver 2', role: 'receiver', max: 4, skew: hour },
      { name: 'worker 1', role: 'worker', max: 20, skew: 0 },
      { name: 'worker 2', role: 'worker', max: 1, skew: hour },
    ] as const
    const starting = all.map(async (one) => {
      const proxy = await startProxy(this.#url, (end) => this.#ends.push(end))
      this.#proxies.push(proxy)
      const options: ChildOptions = { ...one, log: this.#log, secret, url: proxy.url }
      await this.#processes.start(options)
    })
    await Promise.all(starting)
  }

  /** Keeps the senders at the pace of the workers, and tells how far it is. */
  async #pace(): Promise<void> {
    for (let turn = 0; !this.#isOver; turn++) {
      const open = `select coalesce(sum(n), 0)::int as n from idv_inbox.counts
        where state in ('stored', 'retry', 'leased')`
      const [row] = await this.#query(open).catch(() => [])
      if (row) this.#load.isPaused = Number(row.n) > backlog
      if (turn % 20 === 0) this.#say(row?.n)
      await sleep(500)
    }
  }

  #say(open: unknown): void {
    const { kills, crashes, steps } = this.#done
    const atSteps = Object.values(steps).reduce((sum, count) => sum + count, 0)
    this.#options.say(
      `${this.#load.count} acknowledged, ${open ?? '?'} open, ${kills} kills, ${atSteps} at steps, ${crashes} crashes`,
    )
  }

  async #kill(): Promise<void> {
    const { kills, killEvery } = this.#options
    while (this.#done.kills < kills) {
      await sleep((0.2 + Math.random() * 0.8) * killEvery)
      if (this.#processes.killAny()) this.#done.kills++
    }
  }

  /** Receivers and workers at the same time, each at one step after the other. */
  async #killAtSteps(): Promise<void> {
    await Promise.all([this.#killAtStepsOf('receiver'), this.#killAtStepsOf('worker')])
  }

  async #killAtStepsOf(role: 'receiver' | 'worker'): Promise<void> {
    for (let round = 0; round < this.#options.rounds; round++) {
      for (const step of steps[role]) {
        // Tried again: another fault may have ended the process before it came there.
        for (let left = 10; left > 0; left--) {
          if (!(await this.#processes.killAt(role, step, 8_000))) continue
          this.#done.steps[step] = (this.#done.steps[step] ?? 0) + 1
          break
        }
      }
    }
  }

  async #crash(): Promise<void> {
    const { crashes, crashEvery } = this.#options
    while (this.#done.crashes < crashes) {
      await sleep((0.5 + Math.random() * 0.5) * crashEvery)
      const from = now()
      await this.#server?.stop('SIGQUIT')
      await sleep(300)
      await this.#server?.start()
      this.#outages.push({ from, to: now() })
      this.#done.crashes++
    }
  }

  async #cut(): Promise<void> {
    for (let left = this.#options.cuts; left > 0; left--) {
      await sleep(200 + Math.random() * 800)
      // Receivers commit with the statement that keeps.
      for (const proxy of this.#proxies) proxy.loseAnswerTo(left % 2 ? 'commit\0' : 'alone_keep')
    }
  }

  async #stop(): Promise<void> {
    const { stop, blackHole } = this.#options
    if (blackHole > 0) {
      await sleep(1_000)
      this.#processes.cutOff('worker 1')
      this.#proxies[2]?.hold(true)
      await sleep(blackHole)
      this.#proxies[2]?.hold(false)
    }
    if (stop === 0) return
    await sleep(2_000)
    await this.#processes.suspend('worker 1', stop)
  }

  async #failOver(): Promise<void> {
    await sleep(2_000)
    const from = now()
    this.#url = (await this.#cluster?.failOver()) ?? ''
    for (const proxy of this.#proxies) proxy.retarget(this.#url)
    this.#outages.push({ from, to: now() })
    this.#options.say('the standby was promoted')
    const before = this.#load.count
    while (this.#load.count < before + 200) await sleep(100)
  }

  /** Waits until nothing is open any more. */
  async #drain(): Promise<number> {
    const begun = performance.now()
    while (performance.now() - begun < 180_000) {
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
      acked: this.#load.acked,
      lines,
      stops: this.#processes.stops,
      outages: this.#outages,
      effects: effects as unknown as { event: string; entity: string }[],
      entries: Number(row?.entries),
      keys: Number(row?.keys),
    })
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
