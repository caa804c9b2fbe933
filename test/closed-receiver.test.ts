// A receiver is closed: it shows no byte of a secret, and no part of it runs handlers on unsigned
// bytes.
import { inspect } from 'node:util'
import {
  createReceiver,
  createWorker,
  type Observation,
  parse,
  sign,
  verify,
  WebhookError,
} from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { expect, test } from 'vitest'

const secret = 'canary-secret-5f1c2e'
const bytes = (text: string) => new TextEncoder().encode(text)
const body = bytes(
  '{"id":"evt_1","event":"client.created","data":{"id":"cli_1","nameFirst":"Ada"}}',
)

/** Every way in which something may be printed by accident. */
function printed(value: unknown): string {
  const shown = [
    inspect(value, { depth: 9, showHidden: true, getters: true }),
    String(value),
    JSON.stringify(value) ?? '',
  ]
  try {
    shown.push(inspect(structuredClone(value), { depth: 9, showHidden: true }))
  } catch {
    // Functions cannot be cloned.
  }
  return shown.join('\n')
}

/** The secret in the spellings in which a dump could hold it. */
const spellings = [
  secret,
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64'),
  [...Buffer.from(secret)].slice(0, 8).join(', '),
  Buffer.from(secret)
    .toString('hex')
    .slice(0, 20)
    .replace(/(..)(?=.)/g, '$1 '),
]

function expectNoSecret(value: unknown): void {
  const text = printed(value)
  for (const spelling of spellings) expect(text).not.toContain(spelling)
}

test('a receiver has exactly five methods and cannot be changed', () => {
  const receiver = createReceiver({ secret })
  expect(Object.keys(receiver)).toEqual(['on', 'fallback', 'receive', 'handle', 'drain'])
  expect(Object.isFrozen(receiver)).toBe(true)
  for (const name of ['feed', 'ingest', 'run', 'options', 'parser', 'dispatcher', 'observe']) {
    expect(name in receiver).toBe(false)
  }
})

test('printing a receiver, a worker or an inbox shows no byte of a secret', () => {
  const key = Buffer.from(secret.padEnd(32, '-')).toString('base64')
  const inbox = createInbox({ store: memoryStore(), encryption: { key } })
  const rotating = [{ id: 'new', value: secret, tenant: 'acme' }, bytes(`${secret}-old`)]
  for (const one of [secret, bytes(secret), rotating]) {
    const receiver = createReceiver({ secret: one, inbox })
    receiver.on('*', () => {})
    expectNoSecret(receiver)
    expectNoSecret(createWorker(receiver))
    expectNoSecret(inbox)
    expect(printed(inbox)).not.toContain(key)
  }
})

test('outcomes, refusals, verified deliveries and errors show no byte of a secret', async () => {
  const seen: Observation[] = []
  const receiver = createReceiver({ secret, observe: (one) => seen.push(one) })
  receiver.on('client.created', (_, context) => {
    expectNoSecret(context)
    throw new WebhookError('OPTION_INVALID', 'outer', { cause: new Error('inner') })
  })
  const headers = await sign(body, { secret })
  expectNoSecret(await receiver.receive({ body, headers }))
  const refused = await receiver.receive({
    body: bytes(`${new TextDecoder().decode(body)}\n`),
    headers,
  })
  expectNoSecret(refused)
  expectNoSecret(refused.kind === 'rejected' && (await refused.diagnose()))
  expectNoSecret(await verify({ body, headers }, { secret }))
  expectNoSecret(await verify({ body, headers: {} }, { secret }))
  expectNoSecret(seen)
  expect(seen.length).toBeGreaterThan(2)
})

test('an error about a secret shows no byte of it', () => {
  const wrong = [`${secret}\n`, ` ${secret}`, `"${secret}"`, { value: secret, notBefore: 'never' }]
  for (const one of wrong) {
    const make = () => createReceiver({ secret: one as string })
    expect(make).toThrow(expect.objectContaining({ code: 'SECRET_INVALID' }))
    try {
      make()
    } catch (error) {
      expectNoSecret(error)
    }
  }
})

test('headers are walked once for each delivery', async () => {
  const receiver = createReceiver({ secret })
  receiver.on('*', (_, { delivery }) => expect(delivery.headers.length).toBeGreaterThan(1))
  const pairs = Object.entries({ ...(await sign(body, { secret })), 'x-other': '1' })
  let walks = 0
  const headers = {
    *[Symbol.iterator]() {
      walks += 1
      yield* pairs
    },
  }
  expect((await receiver.receive({ body, headers })).kind).toBe('handled')
  expect(walks).toBe(1)
  walks = 0
  const incoming = { method: 'POST', headers, read: async () => body }
  expect((await receiver.handle(incoming)).status).toBe(200)
  expect(walks).toBe(1)
})

test('the enumerable fields of observations hold no data of an event', async () => {
  const seen: Observation[] = []
  const receiver = createReceiver({ secret, observe: (one) => seen.push(one) })
  receiver.on('client.created', (event) => {
    throw Object.assign(new Error(`no account for ${event.data.nameFirst}`), { person: 'Ada' })
  })
  await receiver.receive({ body, headers: await sign(body, { secret }) })
  const [attempt, outcome] = seen
  expect(attempt).toMatchObject({ type: 'attempt', ok: false })
  expect(JSON.stringify(seen)).not.toContain('Ada')
  expect(JSON.stringify({ ...outcome })).not.toContain('Ada')
  expect(outcome?.type === 'outcome' && outcome.errors[0]?.error).toMatchObject({ person: 'Ada' })
})

test('neither unsigned bytes nor a copy of a verified delivery are parsed', async () => {
  const headers = await sign(body, { secret })
  const verified = await verify({ body, headers }, { secret })
  if (!verified.ok) throw new Error(verified.code)
  expect(parse(verified)).toMatchObject({ ok: true })
  const copy = { ...verified.delivery, body: bytes('{"event":"client.deleted"}') }
  for (const forged of [copy, Object.create(verified.delivery), { body, headers }]) {
    expect(() => parse(forged as never)).toThrow(
      expect.objectContaining({ code: 'DELIVERY_NOT_VERIFIED' }),
    )
  }
})
