// `npm run faults:waiting`: waits under kills of the process that waits and of the worker. Names as
// WAITS=1000 change its size, STORE=sqlite its store. Fails if a wait missed its event.
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sign } from 'idv-webhooks'
import { postgres18 } from '../../inbox/postgres/engines.ts'
import { startServer } from '../../inbox/postgres/server.ts'
import type { WaitingChild, WaitingLine } from './child.ts'

const size = (name: string, usual: number) => Number(process.env[name] ?? usual)
const waits = size('WAITS', 50_000)
/** Milliseconds; 0 kills nothing. */
const killEvery = size('KILL_EVERY', 1_500)
/** Events a second at most; 0 for as many as it takes. */
const rate = size('RATE', 0)
/** Milliseconds after which a store's campaign ends, with as many waits as have ended; 0 for none. */
const limit = size('LIMIT', 0)
const atOnce = size('AT_ONCE', 1_000)
const senderCount = 48
const secret = 'the-secret-of-the-waiting-campaign'

class Campaign {
  readonly folder = mkdtempSync(join(tmpdir(), 'idv-waiting-'))
  readonly log = join(this.folder, 'log.jsonl')
  readonly place: string
  readonly kills = { worker: 0, waiter: 0 }
  readonly got = new Map<number, Extract<WaitingLine, { readonly got: number }>>()
  readonly settled = new Map<number, number>()
  readonly timedOut: Extract<WaitingLine, { readonly timedOut: number }>[] = []
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  readonly #children = new Map<string, ChildProcess>()
  readonly #file = openSync(this.log, 'a+')
  readonly #toSend: number[] = []
  #port = 0
  #read = 0
  #rest = ''
  #isOver = false

  constructor(place?: string) {
    process.once('exit', () => {
      for (const child of this.#children.values()) child.kill('SIGKILL')
    })
    this.place = place ?? join(this.folder, 'inbox.db')
  }

  start(role: WaitingChild['role']): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const options = { role, place: this.place, log: this.log, secret, waits, atOnce }
    const launch = () => {
      const child = fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(options)], {
        execArgv: ['--disable-warning=ExperimentalWarning'],
      })
      this.#children.set(role, child)
      child.once('message', (port: number) => {
        if (role === 'worker') this.#port = port
        resolve()
      })
      child.once('exit', (code, signal) => {
        if (this.#isOver || code === 0) return
        if (signal !== 'SIGKILL') throw new Error(`the ${role} ended with ${code}`)
        launch()
      })
    }
    launch()
    return promise
  }

  /** Reads on in the log: what began to wait is sent. */
  #follow(): void {
    const chunk = Buffer.alloc(1 << 20)
    const length = readSync(this.#file, chunk, 0, chunk.length, this.#read)
    this.#read += length
    const lines = (this.#rest + chunk.toString('utf8', 0, length)).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const text of lines) {
      const line: WaitingLine = JSON.parse(text)
      if ('began' in line) this.#toSend.push(line.began)
      else if ('got' in line) this.got.set(line.got, line)
      else if ('settled' in line) this.settled.set(line.settled, line.at)
      else this.timedOut.push(line)
    }
  }

  async #send(name: string, of: number): Promise<void> {
    const event = { id: `${name} ${of}`, event: name, data: { id: `ver_${of}` } }
    const body = Buffer.from(JSON.stringify(event))
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    for (;;) {
      const status = await new Promise<number>((resolve) => {
        const to = { port: this.#port, host: '127.0.0.1', method: 'POST', agent: this.#agent }
        const sent = request({ ...to, headers }, (response) => {
          response.resume().on('end', () => resolve(response.statusCode ?? 0))
        })
        sent.setTimeout(2_000, () => sent.destroy())
        sent.on('error', () => resolve(0)).end(body)
      })
      if (status >= 200 && status < 300) return
      await sleep(20)
    }
  }

  async run(): Promise<void> {
    await this.start('worker')
    await this.start('waiter')
    const sender = async () => {
      while (!this.#isOver) {
        const of = this.#toSend.shift()
        if (of === undefined) await sleep(2)
        else {
          if (rate > 0) await sleep((Math.random() * 2_000 * senderCount) / rate)
          if (of % 2 === 0) await this.#send('verification.submitted', of)
          await this.#send('verification.approved', of)
        }
      }
    }
    const senders = Array.from({ length: senderCount }, sender)
    let killAt = performance.now() + killEvery
    const end = limit > 0 ? performance.now() + limit : Number.POSITIVE_INFINITY
    while (this.got.size < waits && performance.now() < end) {
      this.#follow()
      if (killEvery > 0 && performance.now() > killAt) {
        const role = (this.kills.worker + this.kills.waiter) % 3 === 2 ? 'worker' : 'waiter'
        if (this.#children.get(role)?.kill('SIGKILL')) this.kills[role]++
        killAt = performance.now() + killEvery * (0.5 + Math.random())
      }
      await sleep(5)
    }
    this.#isOver = true
    await Promise.all(senders)
    for (const child of this.#children.values()) child.kill('SIGKILL')
    this.#agent.destroy()
  }

  end(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

interface WaitingReport {
  readonly store: string
  readonly waits: number
  readonly seconds: number
  readonly kills: { readonly worker: number; readonly waiter: number }
  /** Waits that ended with another event. */
  readonly wrong: number
  /** Waits that reached their timeout, and those whose event was settled 5 s before that. */
  readonly timedOut: number
  readonly missed: number
  /** Milliseconds from the settlement, or the repeated call after a kill, to the end of the wait. */
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

async function campaign(store: string, place?: string): Promise<WaitingReport> {
  const began = performance.now()
  const one = new Campaign(place)
  await one.run()
  const took: number[] = []
  let wrong = 0
  for (const [id, { name, entity, at, from }] of one.got) {
    if (name !== 'verification.approved' || entity !== `ver_${id}`) wrong++
    const settled = one.settled.get(id)
    if (settled !== undefined) took.push(Math.max(0, at - Math.max(from, settled)))
  }
  took.sort((a, b) => a - b)
  const share = (part: number) => took[Math.ceil(part * took.length) - 1] ?? 0
  const seconds = Math.round((performance.now() - began) / 1_000)
  const { timedOut } = one
  const missed = timedOut.filter(
    (late) => (one.settled.get(late.timedOut) ?? late.at) < late.at - 5_000,
  )
  one.end()
  const late = { timedOut: timedOut.length, missed: missed.length }
  const times = { p50: share(0.5), p99: share(0.99), longest: share(1) }
  return { store, waits: one.got.size, seconds, kills: one.kills, wrong, ...late, ...times }
}

const reports: WaitingReport[] = []
const only = process.env.STORE
const report = async (...given: Parameters<typeof campaign>) => {
  const one = await campaign(...given)
  console.log(JSON.stringify(one, null, 2))
  reports.push(one)
}
if (only !== 'postgres') await report('SQLite')
if (only !== 'sqlite') {
  const server = await startServer(postgres18())
  await report('Postgres', server.url)
  await server.end()
}
process.exit(reports.some(({ wrong, missed }) => wrong + missed > 0) ? 1 : 0)
