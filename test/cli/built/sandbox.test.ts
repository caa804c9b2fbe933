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

test('says where it is ready, serves, prints what happens, and ends with 130 at Ctrl-C', async () => {
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

test('uses the secret that it is given, does not print it, and outlives what is removed', async () => {
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

test('names at its start the mail server of IDV_SMTP_URL, and heeds no SMTP_URL', async () => {
  const other = { SMTP_URL: 'smtp://127.0.0.1:1' }
  const args = ['--port', '0', '--json', '--quiet']
  expect(await ready(run(args, other))).not.toHaveProperty('mailServer')
  const own = { ...other, IDV_SMTP_URL: 'smtp://user:hush@127.0.0.1:9' }
  expect(await ready(run(args, own))).toMatchObject({ mailServer: '127.0.0.1:9' })
  const child = run(['--port', '0', '--quiet'], own)
  let said = ''
  for await (const line of createInterface({ input: child.stderr })) {
    said += `${line}\n`
    if (/^ {2}seed/.test(line)) break
  }
  expect(said).toContain('  mail     is sent by 127.0.0.1:9 (IDV_SMTP_URL)')
  expect(said).not.toContain('hush')
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

test('does what a scenario says, once', async () => {
  const receiver = await receiving()
  closing.push(receiver.close)
  const file = join(folder(), 'scenario.json')
  const scenario = {
    version: 1,
    seed: 7,
    clock: { now: '2026-01-01T00:00:00Z' },
    subscriptions: [{ url: receiver.url, secret }],
    actions: [
      { create: 'verification', body: { type: 'idv', requirements: ['document'] }, as: 'ada' },
      { act: 'ada', actions: ['start', 'submit', 'approve'] },
    ],
  }
  writeFileSync(file, JSON.stringify(scenario))
  const child = run(['--port', '0', '--scenario', file, '--once'], {
    WEBHOOK_SECRET: 'another-secret-of-the-sandbox',
  })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  expect(stderr).toContain('signs with a secret of its own, not with the one above')
  expect(stdout).toBe(
    [
      'verification.created  delivered  1 attempt',
      'verification.submitted  delivered  1 attempt',
      'verification.approved  delivered  1 attempt',
      '',
    ].join('\n'),
  )
  expect(stderr).toMatch(/seed {5}7\n/)
  expect(stderr).toMatch(/deliveries: 3 delivered\n$/)
  expect(receiver.outcomes()).toEqual(['handled', 'handled', 'handled'])
})

test('tells by its exit code that a scenario did not go as it should', async () => {
  const file = join(folder(), 'scenario.json')
  const clients = { request: { path: '/v2/api/clients' }, expect: 404 }
  const create = { create: 'client' }
  const to = { subscriptions: [{ url: 'http://127.0.0.1:9/' }] }
  for (const [scenario, message] of [
    [{ version: 1, actions: [clients] }, /answered 200, expected 404/],
    [{ version: 1, ...to, actions: [create] }, /deliveries: 1 pending/],
  ] as const) {
    writeFileSync(file, JSON.stringify(scenario))
    const child = run(['--port', '0', '--scenario', file, '--once'])
    expect(await text(child.stderr)).toMatch(message)
    expect(await ended(child, 'SIGTERM')).toBe(1)
  }
})

test('refuses a scenario or options that are none, with 2', async () => {
  const file = join(folder(), 'scenario.json')
  writeFileSync(file, '{"version":2}')
  const misspelt = join(folder(), 'scenario.json')
  const actions = [
    { create: 'verification', as: 'a' },
    { act: 'a', actions: ['start', 'aprove'] },
  ]
  writeFileSync(misspelt, JSON.stringify({ version: 1, actions }))
  for (const [args, message] of [
    [['--scenario', file], /SCENARIO|scenario is not valid: version/],
    [['--scenario', 'nowhere.json'], /nowhere\.json does not exist/],
    [['--once'], /--once needs a scenario/],
    [['--at', 'soon'], /--at must be an ISO 8601 time/],
    [['--port', '70000'], /0 to 65535/],
    [['--events', 'client.*'], /--events needs an address/],
    [['--unlimited', '--rate-limit', '4'], /use --unlimited or --rate-limit/],
    [['--scenario', misspelt], /not valid: actions\.1\.actions\.1: must be start, submit, review/],
    [
      ['--to', 'http://127.0.0.1:9/', '--events', 'verification.aproved'],
      /--events: unknown event 'verification\.aproved'.*verification\.approved/,
    ],
  ] as const) {
    const child = run(args)
    expect(await text(child.stderr)).toMatch(message)
    await ended(child, 'SIGTERM')
    expect(child.exitCode, args.join(' ')).toBe(2)
  }
})
