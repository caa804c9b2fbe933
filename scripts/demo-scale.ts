// npm run demo:scale: examples/postgres without containers. Two receivers, two workers, a proxy and a
// real PostgreSQL; one process of each kind is killed while deliveries arrive.
import { type ChildProcess, spawn } from 'node:child_process'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { styleText } from 'node:util'
import { sign } from 'idv-webhooks'
import pg from 'pg'
import { postgres18 } from '../test/inbox/postgres/engines.ts'
import { startServer } from '../test/inbox/postgres/server.ts'

const secret = 'a-secret-for-the-demo'
const total = Number(process.env.DELIVERIES ?? 400)
const examples = join(import.meta.dirname, '../examples/postgres')
const say = (text: string) => console.log(text)

/** A process that is started again whenever it ends. */
class Supervised {
  readonly #start: () => ChildProcess
  #child: ChildProcess | undefined
  #isOver = false

  constructor(program: string, env: Record<string, string>) {
    this.#start = () =>
      spawn(process.execPath, [join(examples, program)], {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
  }

  /** Resolves when it is ready. */
  start(): Promise<void> {
    return new Promise((resolve) => {
      const launch = () => {
        const child = this.#start()
        this.#child = child
        child.stdout?.once('data', () => resolve())
        child.once('exit', () => {
          if (!this.#isOver) setTimeout(launch, 200)
        })
      }
      launch()
    })
  }

  kill(): void {
    this.#child?.kill('SIGKILL')
  }

  end(): void {
    this.#isOver = true
    this.kill()
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

say('starting PostgreSQL 18, a proxy, two receivers and two workers')
const server = await startServer(postgres18())
const [proxyPort, ...ports] = await Promise.all([freePort(), freePort(), freePort()])
const url = new URL(server.url)
const target = url.host
url.port = String(proxyPort)
const env = { DATABASE_URL: url.href, WEBHOOK_SECRET: secret }
const proxy = new Supervised('proxy.ts', { TARGET: target, PORT: String(proxyPort) })
await proxy.start()
const receivers = ports.map((port) => new Supervised('receiver.ts', { ...env, PORT: String(port) }))
const workers = [1, 2].map(() => new Supervised('worker.ts', env))
await Promise.all([...receivers, ...workers].map((one) => one.start()))

/** The result of a run with that many acknowledgements. */
const incidents: readonly (readonly [at: number, what: string, () => unknown])[] = [
  [0.2, 'SIGKILL a receiver', () => receivers[0]?.kill()],
  [0.4, 'SIGKILL a worker', () => workers[0]?.kill()],
  [0.6, 'SIGKILL the proxy', () => proxy.kill()],
  [0.8, 'crash Postgres, and start it again', () => server.stop('SIGQUIT').then(server.start)],
]
const answers = { acknowledged: 0, duplicate: 0, repeated: 0 }

/** Sends one event until it is acknowledged, as the service does. */
async function deliver(number: number): Promise<void> {
  const data = { id: `ver_${number}`, status: 'approved' }
  const text = JSON.stringify({ id: `evt_${number}`, event: 'verification.approved', data })
  const body = new TextEncoder().encode(text)
  const headers = { ...(await sign(body, { secret })), 'content-type': 'application/json' }
  for (let attempt = 0; ; attempt++) {
    const port = ports[(number + attempt) % ports.length]
    const request = { method: 'POST', body, headers, signal: AbortSignal.timeout(5_000) }
    const reply = await fetch(`http://127.0.0.1:${port}/`, request).catch(() => undefined)
    if (reply?.ok) {
      answers[reply.status === 202 ? 'acknowledged' : 'duplicate']++
      return
    }
    answers.repeated++
    await sleep(100)
  }
}

say(`sending ${total} deliveries\n`)
let next = 0
let done = 0
let incident = 0
const troubles: unknown[] = []
await Promise.all(
  Array.from({ length: 8 }, async () => {
    while (next < total) {
      await deliver(next++)
      done++
      const [at = 2, what = '', happen] = incidents[incident] ?? []
      if (done >= at * total) {
        incident++
        say(`${String(done).padStart(5)} acknowledged: ${styleText('red', what)}`)
        troubles.push(happen?.())
      }
      await sleep(20)
    }
  }),
)
await Promise.all(troubles)
say(`${String(done).padStart(5)} acknowledged: waiting until all are handled`)

const client = new pg.Client({ connectionString: server.url })
await client.connect()
for (let left = 300; left > 0; left--) {
  const { rows } = await client.query('select count(*)::int as open from idv_inbox.lanes')
  if (rows[0].open === 0) break
  if (left % 20 === 0) say(`      ${rows[0].open} still open`)
  await sleep(200)
}
const { rows } = await client.query(
  'select verification, count(*)::int as times, max(attempt) as attempt from approvals group by 1',
)
await client.end()
for (const one of [...receivers, ...workers, proxy]) one.end()
await server.end()

const effects = new Map(rows.map(({ verification, ...row }) => [verification, row]))
const fates = Array.from({ length: total }, (_, number) => {
  const effect = effects.get(`ver_${number}`)
  if (!effect) return 'lost'
  if (effect.times > 1) return 'twice'
  return effect.attempt > 1 ? 'again' : 'once'
})
const signs = { once: '.', again: 'r', lost: 'L', twice: '2' }
say(
  '\nWhat became of every delivery (. handled; r handled after a crash or a retry; L lost; 2 twice):\n',
)
for (let at = 0; at < total; at += 80) {
  say(
    `  ${fates
      .slice(at, at + 80)
      .map((fate) => signs[fate])
      .join('')}`,
  )
}
const count = (wanted: string) => fates.filter((fate) => fate === wanted).length
say(`
${answers.acknowledged} answered 202, ${answers.duplicate} answered 200 as duplicates, ${answers.repeated} sent again after an error or no answer
${count('once')} handled at the first attempt, ${count('again')} at a later one: ${count('lost')} lost, ${count('twice')} twice`)
process.exitCode = count('lost') + count('twice') === 0 ? 0 : 1
