// The campaign of decisions: sandboxes that play every vendor send to one application, while it is
// killed and the vendors' APIs fail. The decision that handlers ended with is the vendor's own.
// `VERIFICATIONS=10000` makes a long run of it.
import { type ChildProcess, spawn } from 'node:child_process'
import { sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createSandbox, type Fault, type Sandbox, type VendorName } from 'idv-webhooks/sandbox'
import { readVendorEvent, type Vendor, type VendorRequest } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import {
  actionsTo,
  type DecisionName,
  decisionNames,
  presetWith,
  toldOf,
  vendorNames,
} from '../sandbox/vendor-receiver.ts'

const size = Number(process.env.VERIFICATIONS ?? 440)
const rounds = Math.max(4, Math.ceil(size / 440))
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** The application in a process that is killed again and again. */
class App {
  readonly folder = mkdtempSync(join(tmpdir(), 'idv-decisions-'))
  kills = 0
  port = 0
  #child: ChildProcess | undefined
  #isOver = false
  #killing: Promise<void> = Promise.resolve()

  async start(): Promise<void> {
    const child = spawn(process.execPath, [join(import.meta.dirname, 'decisions-app.ts')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, FOLDER: this.folder, PORT: String(this.port) },
    })
    this.#child = child
    const ended = once(child, 'exit').then(() => Promise.reject(new Error('the app ended')))
    ended.catch(() => {})
    const said = once(child.stdout, 'data').then(([chunk]) => String(chunk))
    this.port = Number(/port (\d+)/.exec(await Promise.race([said, ended]))?.[1])
  }

  /** Kills it every few seconds until `stop`. */
  killOften(): void {
    const loop = async () => {
      while (!this.#isOver) {
        await pause(2000 + Math.random() * 3000)
        if (this.#isOver) return
        await this.end('SIGKILL')
        this.kills += 1
        await this.start()
      }
    }
    this.#killing = loop()
  }

  async stopKilling(): Promise<void> {
    this.#isOver = true
    await this.#killing
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
}

interface Played {
  readonly name: VendorName
  readonly sandbox: Sandbox
  readonly vendor: Vendor
  /** The decisions of which it tells so that they count. */
  readonly told: readonly DecisionName[]
  /** Each verification with the decisions that it gets, in this order. */
  readonly plans: { id: string; decisions: DecisionName[]; readonly isOne: boolean }[]
  /** A verification that is never decided, whatever forged deliveries say. */
  victim: string
}

/** Faults of deliveries, and of the API at the vendor's own paths. */
function faultsOf({ scheme, decisions = [] }: Vendor): Fault[] {
  const planned: Fault[] = [
    { kind: 'duplicate', probability: 0.1 },
    { kind: 'reorder', probability: 0.1, seconds: 2 },
    { kind: 'drop', probability: 0.1 },
    { kind: 'thin', probability: 0.3 },
    { kind: 'overlap', probability: 0.1 },
    { kind: 'connection-reset', probability: 0.03 },
    { kind: 'slow-drip', probability: 0.02 },
  ]
  // Without a signature or a token nothing tells such a delivery from a genuine one.
  const forged = (['unsigned', 'wrong-secret', 'malformed'] as const).map((kind): Fault => {
    return { kind, probability: 0.03 }
  })
  const changed: Fault[] = [{ kind: 'tampered', probability: 0.03 }]
  const api = decisions.flatMap(({ request }): Fault[] => {
    const path = request.path.replace(/[{?].*/, '')
    return [
      { kind: 'error-429', probability: 0.02, seconds: 1, path },
      { kind: 'error-500', probability: 0.1, path },
      { kind: 'timeout', probability: 0.03, path },
      { kind: 'malformed-json', probability: 0.03, path },
    ]
  })
  const { authenticity } = scheme
  return [
    ...planned,
    ...(authenticity === 'ip' ? [] : forged),
    ...(authenticity === 'signature' ? changed : []),
    ...api,
  ]
}

async function create(sandbox: Sandbox): Promise<string> {
  const response = await sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': sandbox.apiKey },
    body: JSON.stringify({ type: 'idv', requirements: ['document'] }),
  })
  return ((await response.json()) as { id: string }).id
}

async function open(name: VendorName): Promise<Played> {
  const sandbox = await createSandbox({ vendor: name, rateLimit: false, deliveryTimeout: 5000 })
  onTestFinished(() => sandbox.close())
  await sandbox.listen()
  const vendor = presetWith(name, sandbox.api)
  const told = decisionNames.filter((one) => toldOf(vendor, one))
  return { name, sandbox, vendor, told, plans: [], victim: '' }
}

/** A decision, perhaps taken back, perhaps once more; or none. */
function planned({ vendor, told }: Played): DecisionName[] {
  const first = told[Math.floor(Math.random() * told.length)]
  if (!first || Math.random() < 0.1) return []
  const other = ['verification.approved', 'verification.rejected'] as const
  const reversed = first === other[0] ? other[1] : other[0]
  const { reversible } = vendor.finality
  const pair = [first, reversed] as const
  const isReversible = pair.every((one) => reversible.includes(one) && told.includes(one))
  if (!isReversible || Math.random() < 0.6) return [first]
  return Math.random() < 0.3 ? [...pair, first] : [...pair]
}

/** Sends again whatever has not been taken, once. */
async function sendAgain({ deliveries, flush }: Sandbox): Promise<number> {
  let sent = 0
  for (const status of ['pending', 'failed', 'dropped'] as const) {
    sent += deliveries.resendAll({ status })
  }
  await flush()
  return sent
}

async function settle({ sandbox }: Played): Promise<void> {
  await sandbox.flush()
  while ((await sendAgain(sandbox)) > 0) await pause(100)
}

/** One round: new verifications go to their first decision, earlier ones to their next. */
async function round(played: Played, count: number): Promise<void> {
  const { sandbox, plans, vendor } = played
  // Where a vendor's bytes tell no time, a decision that was lost cannot be told from a later one.
  if (!vendor.reading.occurredAt && !vendor.decisions) await settle(played)
  for (const { id, decisions } of plans) {
    const next = decisions.shift()
    if (!next) continue
    await sandbox.act(id, next === 'verification.approved' ? 'approve' : 'reject', { force: true })
  }
  for (let at = 0; at < count; at++) {
    const id = await create(sandbox)
    const [first, ...decisions] = planned(played)
    for (const action of first ? actionsTo[first] : (['start', 'submit'] as const)) {
      await sandbox.act(id, action)
    }
    plans.push({ id, decisions, isOne: decisions.length === 0 })
  }
  await sandbox.flush()
  if (Math.random() < 0.5) await sendAgain(sandbox)
}

/** Unsigned decisions about the victim, and the signature of another delivery over them. */
async function forge({ name, sandbox, vendor, victim }: Played, port: number): Promise<void> {
  const [any] = sandbox.deliveries.list({ status: 'delivered' })
  const seen = any && sandbox.deliveries.get(any.id)?.attempts.at(-1)?.request.headers
  for (const { body } of vendor.fixtures) {
    const text = JSON.stringify(body)
    const own = readVendorEvent(vendor, body)?.entity?.id ?? 'none'
    const forged = text.replaceAll(own, victim)
    for (const headers of [{}, seen ?? {}]) {
      const type = { 'content-type': 'application/json' }
      const url = `http://127.0.0.1:${port}/${name}`
      await fetch(url, { method: 'POST', headers: { ...type, ...headers }, body: forged }).then(
        (response) => response.text(),
        () => 'the app is down',
      )
    }
  }
}

/** The decision that the vendor's own record states; of several records the first that decides. */
async function recorded({ sandbox, vendor, told }: Played, id: string) {
  const { baseUrl, apiKey } = sandbox
  const found: (string | undefined)[] = []
  for (const { request, reading } of vendor.decisions ?? []) {
    const record = await recordAt(sandbox, request, id)
    found.push(readVendorEvent({ ...vendor, reading }, record)?.name)
  }
  if (!vendor.decisions) {
    const path = `${baseUrl}/verifications/${id}`
    const response = await sandbox.fetch(path, { headers: { 'x-api-key': apiKey } })
    found.push(`verification.${((await response.json()) as { status: string }).status}`)
  }
  return told.find((one) => found.includes(one))
}

async function recordAt({ api, fetch }: Sandbox, request: VendorRequest, id: string) {
  const { method = 'GET', path, headers = {}, body } = request
  const values: Record<string, string> = { ...api, fetch: '', id }
  values.basic = btoa(`${api.key}:${api.secret}`)
  const fill = (text: string) => text.replaceAll(/\{([\w.]+)\}/g, (_, at) => values[at] ?? 'any')
  const fillAll = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, fill(text)]))
  // Yoti's API wants a signature.
  const key = api.secret.startsWith('-----') ? api.secret : undefined
  const digest = key && sign('sha256', Buffer.from(`${method}&${fill(path)}`), key)
  const response = await fetch(`${api.baseUrl}${fill(path)}`, {
    method,
    headers: {
      'content-type': 'application/json',
      ...fillAll(headers),
      ...(digest && { 'x-yoti-auth-digest': digest.toString('base64') }),
    },
    ...(body && { body: JSON.stringify(fillAll(body)) }),
  })
  expect(response.status).toBe(200)
  return response.json()
}

function database(app: App, { name }: Played, readOnly: boolean): DatabaseSync {
  return new DatabaseSync(join(app.folder, `${name}.db`), { readOnly })
}

async function quiet(app: App, played: Played): Promise<void> {
  const db = database(app, played, true)
  const sql = "select count(*) as n from idv_entries where state in ('stored', 'leased', 'retry')"
  while ((db.prepare(sql).get() as { n: number }).n > 0) await pause(100)
  db.close()
}

/** What is wrong with the decisions of one vendor. */
async function judged(app: App, played: Played) {
  const db = database(app, played, true)
  const rows = db.prepare('select * from decided order by rowid').all() as {
    [column in 'entity' | 'name' | 'key' | 'by']: string
  }[]
  db.close()
  const wrong: string[] = []
  const last = new Map(rows.map(({ entity, name }) => [entity, name]))
  const keys = new Set<string>()
  // Several events of one decision have keys of their own.
  let repeated = 0
  const single = new Set(played.plans.flatMap(({ id, isOne }) => (isOne ? [id] : [])))
  const seen = new Set<string>()
  for (const { entity, name, key, by } of rows) {
    if (single.has(entity) && seen.has(entity)) repeated += 1
    seen.add(entity)
    if (by !== 'signed' && by !== 'api') wrong.push(`${entity}: decided by ${by}`)
    // A decision that is read again may have changed; each has its effect once.
    const effect = `${key} ${name}`
    if (keys.has(effect)) wrong.push(`${entity}: ${effect} twice`)
    keys.add(effect)
  }
  played.sandbox.faults.clear()
  let decided = 0
  for (const id of [...played.plans.map((one) => one.id), played.victim]) {
    const record = await recorded(played, id)
    if (record) decided += 1
    if (last.get(id) !== record) {
      wrong.push(
        `${played.name} ${id}: handlers ended with ${last.get(id)}, the vendor with ${record}`,
      )
    }
  }
  if (repeated) console.log(played.name, repeated)
  return { wrong, decided, repeated, effects: rows.length }
}

test(`${size} verifications of all vendors end as their vendors' records say`, async () => {
  const app = new App()
  onTestFinished(() => rmSync(app.folder, { recursive: true, force: true }))
  onTestFinished(() => app.end('SIGKILL'))
  const all = await Promise.all(vendorNames.map(open))
  const vendors = Object.fromEntries(
    all.map(({ name, sandbox: { secret, publicKey, api } }) => [name, { secret, publicKey, api }]),
  )
  writeFileSync(join(app.folder, 'config.json'), JSON.stringify({ vendors }))
  for (const one of all) {
    const db = database(app, one, false)
    db.exec('create table decided (entity text, name text, key text, by text)')
    db.close()
  }
  await app.start()
  for (const one of all) {
    const url = `http://127.0.0.1:${app.port}/${one.name}`
    one.sandbox.deliveries.subscriptions.create({ url })
    one.victim = await create(one.sandbox)
    one.sandbox.faults.set(faultsOf(one.vendor))
  }
  app.killOften()
  const began = Date.now()
  const share = Math.ceil(size / all.length / (rounds - 2))
  for (let at = 0; at < rounds; at++) {
    // A vendor may state times in seconds.
    const next = pause(1200)
    const count = (one: Played) => Math.min(share, Math.ceil(size / all.length) - one.plans.length)
    await Promise.all(all.map((one) => round(one, at < rounds - 2 ? count(one) : 0)))
    if (at % 5 === 1) await Promise.all(all.map((one) => forge(one, app.port)))
    await next
  }
  await Promise.all(all.map(settle))
  await app.stopKilling()
  for (const one of all) await quiet(app, one)
  await app.end('SIGTERM')
  const results = await Promise.all(all.map((one) => judged(app, one)))
  const verifications = all.reduce((sum, one) => sum + one.plans.length, 0)
  const total = (of: 'decided' | 'repeated' | 'effects') =>
    results.reduce((sum, one) => sum + one[of], 0)
  const deliveries = all.flatMap(({ sandbox }) => sandbox.deliveries.list())
  const attempts = deliveries.reduce((sum, one) => sum + one.attempts.length, 0)
  const seconds = Math.round((Date.now() - began) / 1000)
  console.log(
    `${verifications} verifications of ${all.length} vendors, ${total('decided')} decided, ${total('effects')} effects (${total('repeated')} of the same decision again), ${deliveries.length} deliveries, ${attempts} attempts, ${app.kills} kills, ${seconds} s`,
  )
  expect(results.flatMap(({ wrong }) => wrong)).toEqual([])
  expect(app.kills).toBeGreaterThan(0)
}, 900_000)
