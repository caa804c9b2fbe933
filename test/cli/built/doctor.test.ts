import { join } from 'node:path'
import { Readable } from 'node:stream'
import { createReceiver, createWorker, type ReceiverOptions } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { toNode } from 'idv-webhooks/node'
import { vendors } from 'idv-webhooks/vendors'
import { describe, expect, onTestFinished, test } from 'vitest'
import { apps, secret, serve } from './apps.ts'
import { folder, runJson } from './run.ts'

const env = { WEBHOOK_SECRET: secret }

const doctor = async (app: keyof typeof apps) => {
  const url = await apps[app]()
  const { records, code } = await runJson(['doctor', '--to', url], { env })
  const of = (type: string) => records.filter((record) => record.type === type)
  const [summary] = of('summary')
  const causes = of('cause').map(({ cause }) => cause)
  const fails = of('probe').filter(({ result }) => result === 'fails')
  return { code, causes, fails, advice: of('cause'), framework: summary?.framework }
}

/** The warnings of the process until the test ends. */
function hearWarnings(): readonly string[] {
  const warnings: string[] = []
  const hear = ({ message }: Error) => warnings.push(message)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  return warnings
}

describe('a sound receiver', () => {
  test.each([
    ['sound', 'unknown'],
    ['sound, express', 'express'],
    ['sound, fastify', 'fastify'],
    ['sound, hono', 'hono'],
    ['sound, next', 'next'],
    ['sound, lambda', 'unknown'],
  ] as const)('%s keeps every guarantee, and its log stays empty', async (app, framework) => {
    const warnings = hearWarnings()
    expect(await doctor(app)).toEqual({ code: 0, causes: [], fails: [], advice: [], framework })
    expect(warnings).toEqual([])
  })
})

describe('a mistake is named with its fix', () => {
  test.each([
    ['express.json() first', 'body-consumed', 'express', /above app\.use\(express\.json\(\)\)/],
    ['express.json(), then JSON.stringify', 'reserialized-by-parser', 'express', /toExpress/],
    ['the default parser of Fastify', 'reserialized-by-parser', 'fastify', /toFastify/],
    ['the Pages Router with its body parser', 'body-consumed', 'next', /bodyParser: false/],
    ['request.json() in the App Router', 'body-consumed', 'next', /no request\.json\(\)/],
    ['a proxy that re-serialises', 'reserialized-on-the-way', 'unknown', /proxy/],
    ['a logger that adds a line break', 'newline-added', 'unknown', /logger/],
    ['a gateway that trims', 'newline-removed', 'unknown', /trim/],
    ['express.text() first', 'decoded-as-text', 'express', /express\.text\(\)/],
    ['another secret', 'secret-or-scheme', 'unknown', /WEBHOOK_SECRET/],
    ['a proxy that drops the signature', 'signature-lost', 'unknown', /proxies and gateways/],
    ['an app that looks in another header', 'signature-lost', 'unknown', /--scheme/],
    ['no verification', 'not-verified', 'unknown', /mount a receiver/],
    ['a dev server that breaks connections', 'unanswered', 'unknown', /dev server before it/],
    ['a login page', 'redirected', 'unknown', /address that it leads to/],
    ['a signature that is only looked for', 'signature-not-compared', 'unknown', /ok: false/],
    ['an app that is in a bad mood', 'unexplained', 'unknown', /log of the app/],
  ] as const)('%s', async (app, cause, framework, fix) => {
    const found = await doctor(app)
    expect(found.causes.filter((one) => !/^(parser-limit|unbounded)$/.test(String(one)))).toEqual([
      cause,
    ])
    expect(found.framework).toBe(framework)
    expect(found.advice[0]?.fix).toMatch(fix)
    expect(found.code).toBe(1)
  })

  test('express.raw(), verify() and JSON.parse: each finding has its cause and fix', async () => {
    const found = await doctor('express.raw(), verify() and JSON.parse')
    expect(found.fails.map(({ name }) => name)).toEqual([
      'a body of 256 KiB',
      'two signature headers',
      'a body that is not UTF-8',
      'a body that is not JSON',
    ])
    expect(found.causes).toEqual([
      'headers-joined',
      'unreadable-fails',
      'unreadable-taken',
      'parser-limit',
    ])
    const fixes = found.advice.map(({ fix }) => fix).join('\n')
    for (const part of ['headersDistinct', 'respond 400', 'fatal: true', 'express.raw(']) {
      expect(fixes).toContain(part)
    }
  })
})

describe('an app that fails by itself', () => {
  test.each([
    ['its secret is missing', 'secret-unavailable', /environment variable/, noSecret],
    ['its inbox cannot be written', 'store-unavailable', /file or database exists/, noStore],
    ['its envelope is another', 'envelope-not-read', /--scheme vendors\.<name>/, otherEnvelope],
    ['its fallback throws', 'handler-failed', /log of the app/, failing],
  ] as const)('is told apart: %s', async (_, cause, fix, receiver) => {
    const url = await serve(toNode(receiver()))
    const { records, code } = await runJson(['doctor', '--to', url], { env })
    const causes = records.filter(({ type }) => type === 'cause')
    expect(causes).toMatchObject([{ cause, fix: expect.stringMatching(fix) }])
    expect(code).toBe(1)
  })
})

const noSecret = () => createReceiver({ secret: () => undefined as never, observe: () => {} })

const otherEnvelope = () =>
  createReceiver({ secret, observe: () => {}, envelope: { name: 'kind' } })

function noStore() {
  const file = join(folder(), 'missing', 'inbox.db')
  return createReceiver({
    secret,
    inbox: createInbox({ store: sqliteStore(file) }),
    observe: () => {},
  })
}

function failing() {
  const receiver = createReceiver({ secret, observe: () => {}, envelope: renamed })
  receiver.fallback(() => {
    throw new Error('always')
  })
  return receiver
}

/** An envelope that hides the event of the probes, as a receiver would that does not know it. */
function renamed(json: unknown) {
  const { id, event } = json as { readonly id: string; readonly event: string }
  return { name: `own.${event}`, id, data: {} }
}

test('a fetch runtime that joins headers is not called wrong: that is not provable there', async () => {
  const receiver = createReceiver({ secret, observe: () => {} })
  const url = await serve(async (request, response) => {
    const headers = new Headers()
    const raw = request.rawHeaders
    for (let at = 0; at < raw.length; at += 2) headers.append(raw[at] ?? '', raw[at + 1] ?? '')
    const { method = 'GET' } = request
    const body = method === 'GET' ? null : (Readable.toWeb(request) as ReadableStream<Uint8Array>)
    const arrived = new Request('http://app.test/', {
      method,
      headers,
      body,
      duplex: 'half',
    } as RequestInit)
    const reply = await toFetch(receiver)(arrived)
    response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text())
  })
  const { records, code, stderr } = await runJson(['doctor', '--to', url], { env })
  expect(code).toBe(0)
  expect(records).toContainEqual(
    expect.objectContaining({ name: 'two signature headers', result: 'not provable' }),
  )
  expect(stderr).toContain('1 not provable here')
})

describe('what is left in an inbox', () => {
  async function appWithInbox(options: Partial<ReceiverOptions> = {}, onAny?: () => void) {
    const file = join(folder(), 'inbox.db')
    const inbox = createInbox({ store: sqliteStore(file) })
    const own = createReceiver({ secret, inbox, ...options })
    if (onAny) own.on('*', onAny).fallback(onAny)
    await inbox.open()
    const worker = createWorker(own)
    await worker.start()
    onTestFinished(async () => {
      await worker.drain()
      await inbox.close()
    })
    return { file, inbox, url: await serve(toNode(own)) }
  }

  test('is nothing; no handler runs and no warning is shown: every probe is sent, and the receiver knows the event', async () => {
    let runs = 0
    const warnings = hearWarnings()
    const { inbox, url } = await appWithInbox({}, () => {
      runs++
    })
    const { code, records, stderr } = await runJson(['doctor', '--to', url], { env })
    expect(code).toBe(0)
    const holding = records.filter(({ type, result }) => type === 'probe' && result === 'holds')
    expect(holding).toHaveLength(23)
    expect(stderr).not.toContain('left in the inbox')
    expect((await inbox.find({ limit: 1 })).entries).toEqual([])
    expect(runs).toBe(0)
    expect(warnings).toEqual([])
  })

  test('is nothing of a receiver with a vendor, to which send sends events of that vendor', async () => {
    let runs = 0
    const { inbox, url } = await appWithInbox({ vendor: vendors.onfido() }, () => {
      runs++
    })
    const to = ['--to', url, '--scheme', 'vendors.onfido']
    const { code, records } = await runJson(['doctor', ...to], { env })
    expect(code).toBe(0)
    expect(records.filter(({ type }) => type === 'probe').length).toBeGreaterThan(20)
    expect((await inbox.find({ limit: 1 })).entries).toEqual([])
    expect(runs).toBe(0)
    const sent = await runJson(['send', 'verification.approved', ...to], { env })
    expect(sent).toMatchObject({ code: 0, records: [{ outcome: 'accepted' }, {}] })
    const kept = async () =>
      (await inbox.find({ limit: 2 })).entries.map(({ name, state }) => [name, state])
    await expect.poll(kept).toEqual([['verification.approved', 'done']])
    expect(runs).toBe(1)
    const other = await runJson(['send', 'client.created', ...to], { env })
    expect(other.records).toMatchObject([
      {
        code: 'EVENT_NAME_UNKNOWN',
        message: expect.stringContaining('only of verification.created, '),
      },
    ])
  })

  test('is nothing under --leave-nothing, and what that leaves out is said', async () => {
    const { inbox, url } = await appWithInbox()
    const { records, stderr, code } = await runJson(['doctor', '--to', url, '--leave-nothing'], {
      env,
    })
    expect((await inbox.find({ limit: 1 })).entries).toEqual([])
    expect(records).toContainEqual({ type: 'unchecked', name: 'exact bytes' })
    expect(records.filter(({ type }) => type === 'probe').length).toBeGreaterThan(5)
    expect(stderr).not.toContain('left in the inbox')
    expect(code).toBe(0)
    const consumed = await apps['express.json() first']()
    const other = await runJson(['doctor', '--to', consumed, '--leave-nothing'], { env })
    expect(other.records).toContainEqual(expect.objectContaining({ cause: 'body-consumed' }))
    expect(other.code).toBe(1)
  })
})

test('the unchecked guarantees are listed; nothing to check is a usage error', async () => {
  const nothing = await runJson(['doctor'])
  expect(nothing.code).toBe(2)
  expect(nothing.records.filter(({ type }) => type === 'unchecked')).toHaveLength(3)
  expect(nothing.records.at(-1)).toMatchObject({ type: 'error', code: 'USAGE' })
  const local = await runJson(['doctor'], { env })
  expect(local.code).toBe(0)
  expect(local.records.filter(({ type }) => type === 'unchecked')).toEqual([
    { type: 'unchecked', name: 'to' },
    { type: 'unchecked', name: 'inbox' },
  ])
})
