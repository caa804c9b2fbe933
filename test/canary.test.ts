// A canary sings in every field of identity data, and every path of success and failure is walked,
// encrypted and not. It may be found where the payload is kept, and nowhere else.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import {
  createReceiver,
  createWorker,
  logOutcomes,
  NonRetryable,
  type Observation,
  sign,
  toReply,
  verify,
} from 'idv-webhooks'
import { createInbox, type Inbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { capture } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'

const canary = 'ZEPHYRINEQUILLFEATHER'
const secret = 'the-secret-of-the-canary-test'
const person = {
  subjectName: `${canary} Ann`,
  subjectEmail: `${canary.toLowerCase()}@example.com`,
  subjectPhone: `+44 ${canary}`,
  person: { firstName: canary, address: { line1: `Apt 3\n    at ${canary} (rear:1:1)` } },
  documents: [{ number: canary, name: `${canary}\u001b[31m` }],
}
const data = { id: 'ver_1', status: 'approved', ...person }

/** Every way in which a handler may fail with a person's data in its hands. */
const thrown: Readonly<Record<string, () => unknown>> = {
  'an error that quotes the name': () => new Error(`no account for ${canary}`),
  'an error over several lines': () => new Error(`x\n    at ${canary} (file:///app.js:1:1)`),
  'an error whose name is data': () => Object.assign(new Error('x'), { name: canary }),
  'an error with a cause': () => new Error('outer', { cause: new Error(canary) }),
  'several errors': () => new AggregateError([new Error(canary)], canary),
  'a stack made by hand': () =>
    Object.assign(new Error('x'), { stack: `Error: x\n    at ${canary}` }),
  'a text': () => canary,
  'an object': () => ({ canary, toString: () => canary }),
  'the event itself': () => data,
  nothing: () => undefined,
  'not to be tried again': () => new NonRetryable(`no ${canary}`),
}

/** Bodies and signatures that are refused, or mean nothing to us. */
const arriving: Readonly<
  Record<string, () => Promise<[string | Uint8Array, Record<string, string>]>>
> = {
  'not JSON': () => signed(`{"name":"${canary}"`),
  'not UTF-8': () => signed(Buffer.concat([Buffer.from(canary), Buffer.from([0xff])])),
  'no envelope': () => signed(JSON.stringify({ subject: canary })),
  'an event of another name': () => signed(JSON.stringify({ event: 'person.renamed', data })),
  'a flat record, its name the event': () =>
    signed(JSON.stringify({ id: 'cli_1', name: `${canary} Ann`, email: person.subjectEmail })),
  'data that does not fit': () =>
    signed(JSON.stringify({ event: 'verification.approved', data: { ...data, id: [canary] } })),
  'a wrong signature': async () => [
    JSON.stringify({ event: 'verification.approved', data }),
    { 'x-service-signature': 'a0'.repeat(32) },
  ],
  'a signature that is a name': async () => [
    JSON.stringify({ event: 'verification.approved', data }),
    { 'x-service-signature': canary },
  ],
  'no signature': async () => [JSON.stringify({ event: 'verification.approved', data }), {}],
  'a re-serialised body': async () => {
    const body = JSON.stringify({ event: 'verification.approved', data })
    const headers = await sign(new TextEncoder().encode(body), { secret })
    return [JSON.stringify(JSON.parse(body), null, 2), headers]
  },
}

async function signed(body: string | Uint8Array): Promise<[Uint8Array, Record<string, string>]> {
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
  return [bytes, await sign(bytes, { secret })]
}

/** Whatever an operator may come to see, as text. */
class Seen {
  readonly lines: string[] = []

  constructor() {
    const warned = (warning: Error) => this.add('warning', `${warning.stack} ${warning.message}`)
    process.on('warning', warned)
    const methods = ['log', 'info', 'warn', 'error'] as const
    const originals = methods.map((method) => [method, console[method]] as const)
    for (const method of methods) console[method] = (...all: unknown[]) => this.add(method, ...all)
    onTestFinished(() => {
      process.off('warning', warned)
      for (const [method, original] of originals) console[method] = original
    })
  }

  add(where: string, ...what: unknown[]): void {
    const texts = what.map((one) => (typeof one === 'string' ? one : (JSON.stringify(one) ?? '')))
    this.lines.push(`${where}: ${texts.join(' ')}`)
  }

  /** The lines in which the canary sings. */
  get songs(): string[] {
    return this.lines.filter((line) => line.toUpperCase().includes(canary))
  }
}

function observing(seen: Seen) {
  const log = logOutcomes({ write: (line) => seen.add('log', line) })
  return (observed: Observation) => {
    seen.add('observation', observed)
    log(observed)
  }
}

let made = 0

/** A delivery with a genuine signature, of an event that a resource has often. */
async function genuine(id: string) {
  const body = JSON.stringify({
    id,
    event: 'client.updated',
    createdAt: new Date(Date.UTC(2026, 0, 1) + made++).toISOString(),
    data,
  })
  const [bytes, headers] = await signed(body)
  return { body: bytes, headers }
}

async function walkAll(seen: Seen, inbox?: Inbox) {
  let throwing: (() => unknown) | undefined
  const receiver = createReceiver({
    secret,
    observe: observing(seen),
    validate: 'reject',
    handlerTimeout: 2_000,
    ...(inbox && { inbox }),
  })
  receiver.on('client.updated', () => {
    if (throwing) throw throwing()
  })
  const worker = inbox && createWorker(receiver, { concurrency: 1 })
  const take = async (what: string, delivery: Parameters<typeof receiver.receive>[0]) => {
    const outcome = await receiver.receive(delivery)
    const { status, headers, body } = toReply(outcome)
    seen.add(`reply to ${what}`, status, headers, body)
    if ('diagnose' in outcome) seen.add(`diagnosis of ${what}`, await outcome.diagnose())
  }
  await take('a genuine delivery', await genuine('evt_0'))
  for (const [what, make] of Object.entries(thrown)) {
    throwing = make
    await take(what, await genuine(`evt_${what}`))
    await worker?.runOnce()
  }
  throwing = undefined
  for (const [what, make] of Object.entries(arriving)) {
    const [body, headers] = await make()
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    await take(what, { body: bytes, headers })
    const verified = await verify({ body: bytes, headers }, { secret })
    if (!verified.ok) seen.add(`verify of ${what}`, verified, await verified.diagnose())
  }
  await worker?.runOnce()
  return receiver
}

test('no observer, log, warning, reply or diagnosis contains the canary', async () => {
  const seen = new Seen()
  const receiver = await walkAll(seen)
  seen.add('receiver', receiver)
  expect(seen.lines.length).toBeGreaterThan(40)
  expect(seen.songs).toEqual([])
})

/** The text of every column of a database that is not the payload itself. */
function besidePayloads(file: string): string {
  const db = new DatabaseSync(file, { readOnly: true })
  const tables = db.prepare("select name from sqlite_master where type = 'table'").all()
  const rows = tables.flatMap(({ name }) => {
    if (name === 'idv_contents') return []
    return db.prepare(`select * from "${name}"`).all()
  })
  db.close()
  const texts = rows.flatMap((row) =>
    Object.values(row).map((value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : String(value),
    ),
  )
  return texts.join('\n').toUpperCase()
}

function filesOf(folder: string): string {
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file)).toString('latin1'))
    .join('\n')
    .toUpperCase()
}

const kinds = [
  { kind: 'encrypted', encryption: { key: 'a1'.repeat(32) } },
  { kind: 'not encrypted', encryption: undefined },
]

test.each(kinds)(
  'with an inbox that is $kind it is heard only where the payload is',
  async (given) => {
    const folder = mkdtempSync(join(tmpdir(), 'idv-canary-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'inbox.db')
    const seen = new Seen()
    const { encryption } = given
    const retry = { attempts: 1 }
    const inbox = createInbox({
      store: sqliteStore(file),
      retry,
      ...(encryption && { encryption }),
    })
    await walkAll(seen, inbox)
    const { entries } = await inbox.find({ limit: 100 })
    expect(entries.length).toBeGreaterThan(10)
    // A stranger's name for an event, and failures, are listed without what they quote.
    seen.add('entries', entries)
    seen.add('stats', await inbox.stats())
    expect(seen.songs).toEqual([])
    expect(besidePayloads(file)).not.toContain(canary)
    if (encryption) expect(filesOf(folder)).not.toContain(canary)
    else expect(filesOf(folder)).toContain(canary)
    const ofPerson = entries
      .filter(({ entity }) => entity?.type === 'client' && entity.id === 'ver_1')
      .map(({ id }) => id)
    expect(ofPerson.length).toBeGreaterThan(5)
    await inbox.forget({ type: 'client', id: 'ver_1' })
    const left = await Promise.all(ofPerson.map((id) => inbox.get(id, { withDelivery: true })))
    seen.add('entries of somebody who was forgotten', left)
    expect(left.some((entry) => entry?.delivery)).toBe(false)
    expect(seen.songs).toEqual([])
    await inbox.close()
  },
)

test('a capture of an accepted or a rejected delivery does not contain the canary', async () => {
  const seen = new Seen()
  seen.add('capture', await capture(await genuine('evt_1'), { secret }))
  const forged = { ...(await genuine('evt_2')), headers: { 'x-service-signature': canary } }
  const written = await capture(forged, { secret })
  seen.add('capture of a forgery', written, Buffer.from(written.body, 'base64').toString('latin1'))
  expect(seen.songs).toEqual([])
})
