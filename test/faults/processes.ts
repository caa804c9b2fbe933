// Starts the app in a process of its own, sends it signed events until they are taken, and reads
// what is left of it.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { signedDelivery } from 'idv-webhooks/testing'
import { onTestFinished } from 'vitest'
import type { Happening, History } from './history.ts'

/** In every payload; it must be found nowhere but in memory. */
const canary = 'CANARY-Robin-Example'

export interface Sent {
  readonly id: string
  readonly entity: string
  readonly fate?: string
}

/** A folder with a database, the app that serves it, and the history of both sides. */
export class Bench {
  readonly folder: string
  /** The database. */
  live: string
  readonly history: string
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  #child: ChildProcess | undefined
  #port = 0
  said = ''
  peakRss = 0

  constructor(folder = mkdtempSync(join(tmpdir(), 'idv-faults-'))) {
    this.folder = folder
    this.live = join(folder, 'inbox.db')
    this.history = join(folder, 'history.jsonl')
    appendFileSync(this.history, '')
    onTestFinished(() => {
      this.#child?.kill('SIGKILL')
      this.#agent.destroy()
      rmSync(folder, { recursive: true, force: true })
    })
  }

  /** Starts the app and resolves when it listens; rejects when it ends before. */
  async start(environment: Record<string, string> = {}): Promise<void> {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'app.ts')], {
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        DB: this.live,
        HISTORY: this.history,
        ...environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    const listening = Promise.withResolvers<void>()
    const take = (chunk: Buffer) => {
      this.said += chunk
      const port = /port (\d+)/.exec(String(chunk))?.[1]
      if (port) {
        this.#port = Number(port)
        listening.resolve()
      }
      for (const [, rss] of String(chunk).matchAll(/rss (\d+)/g)) {
        this.peakRss = Math.max(this.peakRss, Number(rss))
      }
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    child.once('exit', () => listening.reject(new Error(`the app ended: ${this.said}`)))
    listening.promise.catch(() => {})
    await listening.promise
  }

  get isRunning(): boolean {
    return this.#child?.exitCode === null && this.#child.signalCode === null
  }

  /** Resolves with the exit code or the signal when the app has ended. */
  async ended(): Promise<number | string> {
    const child = this.#child
    if (!child) return 0
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    return child.signalCode ?? child.exitCode ?? 0
  }

  async kill(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await this.ended()
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Sends one event once; 0 when there was no answer. */
  async send({ id, entity, fate }: Sent): Promise<number> {
    const data = { id: entity, subjectName: canary, ...(fate && { fate }) }
    const event = { id, event: 'verification.approved', data }
    const { body, headers } = await signedDelivery(event)
    const status = await this.#post(body, headers)
    this.note({ type: 'answered', key: id, status, at: Number(process.hrtime.bigint()) / 1e6 })
    return status
  }

  /** Sends one event until it is taken, as a sender does. */
  async deliver(sent: Sent): Promise<number> {
    for (;;) {
      const status = await this.send(sent)
      if (status >= 200 && status < 300) return status
      await new Promise((resolve) => setTimeout(resolve, 10 + Math.random() * 30))
    }
  }

  /** Sends the head of a request and half of its body. */
  async sendHalf({ id, entity }: Sent): Promise<void> {
    const { body, headers } = await signedDelivery({
      id,
      event: 'client.created',
      data: { id: entity },
    })
    const half = request({
      port: this.#port,
      host: '127.0.0.1',
      method: 'POST',
      headers: { ...headers, 'content-length': body.length },
    })
    half.on('error', () => {})
    await new Promise<void>((resolve) => half.write(body.subarray(0, 10), () => resolve()))
  }

  note(happening: Happening): void {
    appendFileSync(this.history, `${JSON.stringify(happening)}\n`)
  }

  /** Resolves when the app has no open entry any more. */
  async quiet(): Promise<void> {
    const db = new DatabaseSync(this.live, { readOnly: true })
    const open = db.prepare(
      "select count(*) as n from idv_entries where state in ('stored', 'leased', 'retry')",
    )
    try {
      while ((open.get() as { n: number }).n > 0)
        await new Promise((resolve) => setTimeout(resolve, 15))
    } finally {
      db.close()
    }
  }

  /** The evidence of the file and both sides, once the app has ended. */
  async read(file = this.live): Promise<History> {
    const keys = await keysIn(file)
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      const rows = db.prepare('select id, seq, state, reason from idv_entries order by seq').all()
      const effects = db.prepare('select key from effects').all()
      const counts = db.prepare('select state, count from idv_counts').all()
      return {
        happenings: happeningsIn(this.history),
        rows: rows.map((row) => ({ ...row, key: keys.get(String(row.id)) ?? '' })) as never,
        effects: effects.map(({ key }) => String(key)),
        counts: Object.fromEntries(counts.map(({ state, count }) => [state, Number(count)])),
      }
    } finally {
      db.close()
    }
  }

  /** The files and outputs in which the canary can be seen. */
  leaks(): string[] {
    const files = readdirSync(this.folder).filter((name) =>
      readFileSync(join(this.folder, name), 'latin1').includes(canary),
    )
    return this.said.includes(canary) ? [...files, 'output'] : files
  }

  #post(body: Uint8Array, headers: Readonly<Record<string, string>>): Promise<number> {
    return new Promise((resolve) => {
      const options = {
        port: this.#port,
        host: '127.0.0.1',
        method: 'POST',
        agent: this.#agent,
        headers: { ...headers, 'content-length': body.length },
      }
      const sent = request(options, (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
        response.on('error', () => resolve(0))
      })
      sent.on('error', () => resolve(0))
      sent.setTimeout(10_000, () => sent.destroy())
      sent.end(body)
    })
  }
}

function happeningsIn(file: string): Happening[] {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  const all = lines.map((line) => JSON.parse(line) as Happening)
  return all.sort((one, two) => one.at - two.at)
}

/** The ids of events are sealed, so the inbox itself tells them. */
async function keysIn(file: string): Promise<Map<string, string>> {
  const inbox = createInbox({ store: sqliteStore(file), encryption: { key: 'a1'.repeat(32) } })
  const keys = new Map<string, string>()
  try {
    for (let cursor: string | undefined; ; ) {
      const page = await inbox.find({ limit: 500, ...(cursor && { cursor }) })
      for (const { id, eventId = '' } of page.entries) keys.set(id, eventId)
      cursor = page.cursor
      if (cursor === undefined) return keys
    }
  } finally {
    await inbox.close()
  }
}

/** `n` events over as many entities, in the order in which they are sent. */
export function eventsOf(count: number, entities: number, prefix = 'evt'): Sent[] {
  return Array.from({ length: count }, (_, at) => ({
    id: `${prefix}-${at}`,
    entity: `ver-${at % entities}`,
  }))
}
