import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { receiving, secret } from '../../sandbox/receiving.ts'

const cli = join(import.meta.dirname, '../../../dist/cli.js')
const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

function run(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [cli, 'sandbox', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  closing.push(() => ended(child, 'SIGKILL'))
  return child
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill(signal)
    await once(child, 'exit')
  }
  return child.exitCode
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'idv-cli-sandbox-'))
  closing.push(() => rmSync(path, { recursive: true }))
  return path
}

async function ready(child: ReturnType<typeof run>) {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async () => JSON.parse((await lines.next()).value as string)
  const first = await next()
  expect(first.type).toBe('ready')
  return { ...first, next }
}

const create = (baseUrl: string, apiKey: string, body: object = {}) =>
  fetch(`${baseUrl}/verifications`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'idv', requirements: ['document'], ...body }),
  })

test('prints its address, serves, prints events, and ends with 130 at Ctrl-C', async () => {
  const receiver = await receiving()
  closing.push(receiver.close)
  const child = run(['--port', '0', '--json', '--to', receiver.url], {
    WEBHOOK_SECRET: secret,
  })
  const { baseUrl, apiKey, next } = await ready(child)
  expect(new URL(baseUrl).hostname).toBe('127.0.0.1')
  const response = await create(baseUrl, apiKey, { subjectName: 'Ada Lovelace' })
  expect(response.status).toBe(201)
  const made = await next()
  expect(made).toMatchObject({ type: 'verification', status: 'initiated' })
  const delivery = await next()
  expect(delivery).toMatchObject({
    type: 'delivery',
    event: 'verification.created',
    status: 'delivered',
    answer: 200,
  })
  expect(JSON.stringify([made, delivery])).not.toContain('Ada')
  expect(receiver.outcomes()).toEqual(['handled'])
  expect(await ended(child, 'SIGINT')).toBe(130)
})

test('prints why a delivery was refused, and which was dropped', async () => {
  const receiver = await receiving()
  closing.push(receiver.close)
  const args = ['--port', '0', '--json', '--to', receiver.url]
  const child = run(args, { WEBHOOK_SECRET: 'another-secret-of-the-sandbox' })
  const { baseUrl, apiKey, control, next } = await ready(child)
  await create(baseUrl, apiKey)
  expect(await next()).toMatchObject({ type: 'verification' })
  const refused = { type: 'delivery', answer: 401, code: 'SIGNATURE_MISMATCH', attempt: 1 }
  expect(await next()).toMatchObject(refused)
  const body = JSON.stringify({ faults: [{ kind: 'drop' }] })
  const headers = { 'content-type': 'application/json' }
  expect((await fetch(`${control}/faults`, { method: 'PUT', headers, body })).status).toBe(200)
  await create(baseUrl, apiKey)
  expect(await next()).toMatchObject({ type: 'verification' })
  expect(await next()).toMatchObject({ type: 'delivery', status: 'dropped', attempts: 0 })
})

test('uses the given secret, does not print it, and survives removed files', async () => {
  const child = run(['--port', '0', '--json', '--to', 'http://127.0.0.1:9/'], {
    WEBHOOK_SECRET: secret,
  })
  const { control, ...first } = await ready(child)
  expect(first.secretFrom).toBe('WEBHOOK_SECRET')
  expect(JSON.stringify(first)).not.toContain(secret)
  const [{ id, secret: used }] = await listed(`${control}/subscriptions?reveal=true`)
  expect(used).toBe(secret)
  expect((await fetch(`${control}/subscriptions/${id}`, { method: 'DELETE' })).status).toBe(200)
  expect(await listed(`${control}/subscriptions`)).toEqual([])
  expect(await ended(child, 'SIGTERM')).toBe(130)
})

test.each([
  ['WEBHOOK_SECRET', { WEBHOOK_SECRET: secret }, []],
  ['a file', {}, ['--secret-file']],
  ['the config file', {}, ['--config']],
] as const)('says that the secret comes from %s', async (_, env, [flag]) => {
  const cwd = folder()
  const file = join(cwd, 'kept.json')
  writeFileSync(file, JSON.stringify(flag === '--config' ? { secret } : [secret]))
  const child = run(['--port', '0', '--quiet', ...(flag ? [flag, file] : [])], env)
  let said = ''
  for await (const line of createInterface({ input: child.stderr })) {
    said += `${line}\n`
    if (/^ {2}seed/.test(line)) break
  }
  const names = { '--secret-file': file, '--config': 'the config file' }
  expect(said).toContain(`secret   (from ${flag ? names[flag] : 'WEBHOOK_SECRET'})`)
  expect(said).not.toContain(secret)
})

test('prints once the secret that it made', async () => {
  const made = await ready(run(['--port', '0', '--json', '--quiet']))
  expect(made.secret).toMatch(/.{16}/)
  expect(made).not.toHaveProperty('secretFrom')
})

async function listed(url: string) {
  const { data } = (await (await fetch(url)).json()) as { data: { id: string; secret: string }[] }
  return data as [{ id: string; secret: string }]
}

test('keeps its state in a file from one run to the next', async () => {
  const data = join(folder(), 'sandbox.json')
  const one = run(['--port', '0', '--json', '--quiet', '--data', data])
  const first = await ready(one)
  const { id } = (await (await create(first.baseUrl, first.apiKey)).json()) as { id: string }
  await ended(one, 'SIGTERM')
  const two = await ready(run(['--port', '0', '--json', '--quiet', '--data', data]))
  expect([two.secret, two.seed]).toEqual([first.secret, first.seed])
  const read = await fetch(`${two.baseUrl}/verifications/${id}`, {
    headers: { 'x-api-key': two.apiKey },
  })
  expect(read.status).toBe(200)
})

test('names the way out when its port is taken', async () => {
  const { url } = await ready(run(['--port', '0', '--json', '--quiet']))
  const child = run(['--port', new URL(url).port])
  const said = await text(child.stderr)
  expect(said).toMatch(/port \d+ is in use: .* --port 0/)
  expect(await ended(child, 'SIGTERM')).toBe(1)
})

test('refuses options that are none, with 2', async () => {
  for (const [args, message] of [
    [['--at', 'soon'], /now must be .* an ISO 8601 string/],
    [['--port', '70000'], /0 to 65535/],
    [['--events', 'client.*'], /--events needs an address/],
    [['--unlimited', '--rate-limit', '4'], /use --unlimited or --rate-limit/],
    [
      ['--to', 'http://127.0.0.1:9/', '--events', 'verification.aproved'],
      /events\.0\b.*verification\.approved/,
    ],
  ] as const) {
    const child = run(args)
    expect(await text(child.stderr)).toMatch(message)
    await ended(child, 'SIGTERM')
    expect(child.exitCode, args.join(' ')).toBe(2)
  }
})

test('plays a vendor, and says what its receiver is made with', async () => {
  const made = await ready(run(['--port', '0', '--json', '--quiet', '--vendor', 'plaid']))
  expect(made).toMatchObject({
    vendor: 'plaid',
    api: { clientId: 'sandbox-client', secret: 'sandbox-secret', baseUrl: made.url },
    publicKey: expect.stringMatching(/^-----BEGIN PUBLIC KEY-----/),
  })
  const wrong = run(['--vendor', 'plad'])
  const exit = once(wrong, 'exit')
  expect(await text(wrong.stderr)).toMatch(
    /Pass one of alloy, cashfree, .*, yoti\. Did you mean 'plaid'\?/,
  )
  expect((await exit)[0]).toBe(2)
})
