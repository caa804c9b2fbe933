// A place to break things: an app in a process of its own over a file, a sender that keeps book,
// and the history of both.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { sign } from 'idv-webhooks'
import type { History, Line, Row, Sent } from './history.ts'

export const secret = 'a-secret-of-the-lab'

/** How the app of a lab runs. */
export interface Running {
  readonly worker?: boolean
  readonly fault?: string
  readonly attempts?: number
  readonly handlerTimeout?: number
  readonly preload?: string
  readonly check?: 'integrity' | 'quick'
  readonly env?: Readonly<Record<string, string>>
}

export interface SentEvent {
  readonly id: string
  readonly entity: string
  readonly behaviour?: string
  readonly tx?: boolean
}

export class Lab {
  readonly folder: string
  readonly file: string
  readonly armed: string
  readonly sent: Sent[] = []
  readonly #log: string
  readonly #events = new Map<string, SentEvent>()
  #agent = new Agent({ keepAlive: true })
  #child: ChildProcess | undefined
  #port = 0
  stderr = ''

  constructor(folder = mkdtempSync(join(tmpdir(), 'idv-lab-'))) {
    this.folder = folder
    mkdirSync(join(folder, 'data'), { recursive: true })
    this.file = join(folder, 'data', 'inbox.db')
    this.armed = join(folder, 'armed')
    this.#log = join(folder, 'log.jsonl')
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get port(): number {
    return this.#port
  }

  /** Starts the app; rejects with its words when it does not come up. */
  async start(running: Running = {}): Promise<void> {
    const { worker = true, fault, attempts = 4, handlerTimeout = 5_000, check = 'quick' } = running
    const driver = fault === undefined ? undefined : join(import.meta.dirname, 'fault-driver.ts')
    const settings = {
      db: this.file,
      log: this.#log,
      secret,
      driver,
      worker,
      attempts,
      handlerTimeout,
      check,
    }
    const child = spawn(process.execPath, [join(import.meta.dirname, 'app.ts')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        SETTINGS: JSON.stringify(settings),
        ARMED: this.armed,
        FAULT: fault ?? '',
        ...(running.preload && { LD_PRELOAD: running.preload }),
        ...running.env,
      },
    })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    const lines = createInterface({ input: child.stdout })
    const ready = once(lines, 'line').then(([line]) => Number(/^ready (\d+)/.exec(line)?.[1]))
    const gone = once(child, 'exit').then(() => 0)
    this.#port = await Promise.race([ready, gone])
    if (!this.#port) throw new Error(`the app did not start: ${this.stderr}`)
  }

  /** Resolves with the exit code when the app has ended by itself or by a signal. */
  async ended(signal?: NodeJS.Signals): Promise<number | null> {
    const child = this.#child
    if (!child) return null
    if (child.exitCode === null && child.signalCode === null) {
      const exit = once(child, 'exit')
      if (signal) child.kill(signal)
      await exit
    }
    this.#agent.destroy()
    this.#agent = new Agent({ keepAlive: true })
    return child.exitCode
  }

  async kill(): Promise<void> {
    await this.ended('SIGKILL')
  }

  /** Sends an event once; undefined when no answer came. */
  async send(event: SentEvent): Promise<number | undefined> {
    this.#events.set(event.id, event)
    const { body, headers } = await this.delivery(event)
    const status = await post(this.#port, { body, headers, agent: this.#agent })
    this.sent.push({ id: event.id, entity: event.entity, status })
    return status
  }

  /** Sends until it is taken, as senders do. */
  async deliver(event: SentEvent, pause = 15): Promise<void> {
    for (;;) {
      const status = await this.send(event)
      if (status !== undefined && status >= 200 && status < 300) return
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }

  async delivery({ id, entity, behaviour, tx }: SentEvent) {
    const body = JSON.stringify({
      id,
      event: 'verification.submitted',
      createdAt: '2026-01-01T00:00:00Z',
      data: { id: entity, ...(behaviour && { behaviour }), ...(tx && { tx }) },
    })
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    return { body, headers }
  }

  lines(): Line[] {
    if (!existsSync(this.#log)) return []
    const text = readFileSync(this.#log, 'utf8').split('\n').slice(0, -1)
    return text.map((line) => JSON.parse(line) as Line)
  }

  /** Resolves when a line fits that has not been there when it was first asked. */
  async seen(fits: (line: Line) => boolean, count = 1): Promise<void> {
    while (this.lines().filter(fits).length < count) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }

  /** Resolves when nothing is open any more; the app goes on. */
  async quiet(): Promise<void> {
    for (;;) {
      const db = new DatabaseSync(this.file, { readOnly: true })
      const sql =
        "select count(*) as open from idv_entries where state in ('stored', 'leased', 'retry')"
      const { open } = db.prepare(sql).get() as { open: number }
      db.close()
      if (open === 0) return
      await new Promise((resolve) => setTimeout(resolve, 15))
    }
  }

  /** What the file holds; of a copy where one is named. */
  rows(file = this.file): Row[] {
    const db = new DatabaseSync(file, { readOnly: true })
    const sql = `select e.seq, e.state, c.body from idv_entries e left join idv_contents c using (seq)
      order by e.seq`
    const rows = db.prepare(sql).all() as { seq: number; state: string; body: Uint8Array }[]
    db.close()
    return rows.map(({ seq, state, body }) => {
      const { id, data } = JSON.parse(new TextDecoder().decode(body.subarray(1))) as {
        id: string
        data: { id: string; tx?: boolean }
      }
      return { seq, key: id, entity: data.id, state, tx: data.tx === true }
    })
  }

  effects(file = this.file): string[] {
    const db = new DatabaseSync(file, { readOnly: true })
    try {
      const rows = db.prepare('select id from effects').all() as { id: string }[]
      return rows.map(({ id }) => id)
    } catch {
      return []
    } finally {
      db.close()
    }
  }

  history(): History {
    return { sent: this.sent, lines: this.lines(), rows: this.rows(), effects: this.effects() }
  }

  async close(): Promise<void> {
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

interface Posting {
  readonly body: string | Uint8Array
  readonly headers: Readonly<Record<string, string>>
  readonly agent?: Agent
}

/** One request; undefined when no whole answer came. */
export function post(port: number, { body, headers, agent }: Posting): Promise<number | undefined> {
  return new Promise((resolve) => {
    const outgoing = request(
      {
        port,
        host: '127.0.0.1',
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        ...(agent && { agent }),
      },
      (answer) => {
        answer.resume()
        answer.on('end', () => resolve(answer.statusCode))
        answer.on('error', () => resolve(undefined))
      },
    )
    outgoing.on('error', () => resolve(undefined))
    outgoing.end(body)
  })
}
