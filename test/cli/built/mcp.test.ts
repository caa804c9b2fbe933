// The server is spoken to by the official client, over the stdio of the built command.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import express from 'express'
import { createReceiver, createWorker, NonRetryable } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { capture, fixture, signedDelivery } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { receiver, secret, serve } from './apps.ts'
import { cli, folder, run, start } from './run.ts'

const people = /Robin|robin@|555-0100|Kim Sample|Example Street/

async function connect(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const bare = { PATH: process.env.PATH ?? '', HOME: cwd }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [cli, 'mcp', ...args],
    cwd,
    env: { ...bare, WEBHOOK_SECRET: secret, ...env },
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (part) => {
    said += part
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const {
      isError = false,
      content,
      structuredContent,
    } = await client.callTool({
      name,
      arguments: given,
    })
    const [first] = content
    const text = first?.type === 'text' ? first.text : ''
    return { isError, text, value: structuredContent as Record<string, unknown> }
  }
  return { client, call, said: () => said }
}

/** An inbox with a done entry and a dead letter, beside its owner. */
async function project() {
  const cwd = folder()
  const inbox = createInbox({ store: sqliteStore(join(cwd, 'inbox.db')) })
  const own = createReceiver({ secret, inbox, observe: () => {} })
  own.on('client.created', () => {}, { id: 'crm' })
  own.on('verification.approved', () => {
    throw new NonRetryable('Robin is not in the books')
  })
  await inbox.open()
  onTestFinished(() => inbox.close())
  for (const name of ['client.created', 'verification.approved'] as const) {
    await own.receive(await signedDelivery(fixture(name), { secret }))
  }
  await createWorker(own).runOnce()
  const now = () => new Date('2026-03-01T10:00:00Z')
  const sent = await signedDelivery(fixture('verification.approved'), { secret, now })
  const raw = await capture(sent, { redact: false })
  writeFileSync(join(cwd, 'approved.json'), JSON.stringify(raw))
  const body = Buffer.from(raw.body, 'base64').toString()
  const spelled = Buffer.from(JSON.stringify(JSON.parse(body), null, 2)).toString('base64')
  writeFileSync(join(cwd, 'changed.json'), JSON.stringify({ ...raw, body: spelled }))
  return { cwd, inbox }
}

test('lists its tools: none but doctor makes requests, and none takes a secret or an inbox', async () => {
  const { client } = await connect(folder(), [])
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    ...['inbox_find', 'inbox_show', 'inbox_stats', 'verify', 'discover', 'doctor'],
  ])
  const writing = tools.filter(({ annotations }) => annotations?.readOnlyHint !== true)
  expect(writing.map(({ name }) => name)).toEqual(['doctor'])
  const given = tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties ?? {}))
  expect(given).toContain('captures')
  expect(given.filter((name) => /secret|inbox|payload|scheme/i.test(name))).toEqual([])
  expect(client.getInstructions()).toContain('Nothing is changed')
})

test('finds, shows and counts entries beside the owner, and changes none', async () => {
  const { cwd, inbox } = await project()
  const before = await inbox.find()
  const { call, said } = await connect(cwd, ['--inbox', 'inbox.db'])
  const stats = await call('inbox_stats')
  expect(stats.value).toMatchObject({ done: 1, dead: 1, lag: 0, latency: { target: 60_000 } })
  expect(stats.text).toMatch(/"handler":"crm","entries":1,/)
  const found = await call('inbox_find', { state: ['dead'], name: 'request.approved' })
  expect(found.value.entries).toMatchObject([
    { state: 'dead', name: 'verification.approved', reason: 'NON_RETRYABLE', attempts: 1 },
  ])
  const [{ id }] = found.value.entries as { id: string }[] as [{ id: string }]
  const shown = await call('inbox_show', { id })
  expect(shown.value).toMatchObject({ id, state: 'dead', masked: true })
  expect(shown.value.payload).toContain('"status"')
  expect(`${found.text} ${shown.text} ${said()}`).not.toMatch(people)
  const page = await call('inbox_find', { limit: 1 })
  expect(page.value.entries).toHaveLength(1)
  expect(
    (await call('inbox_find', { limit: 1, cursor: page.value.cursor })).value.entries,
  ).toMatchObject([{ name: 'client.created', handled: ['crm'] }])
  expect(await inbox.find()).toEqual(before)
})

test('verifies and discovers captures offline', async () => {
  const { cwd } = await project()
  const { call } = await connect(cwd, [])
  expect((await call('verify', { captures: ['approved.json'] })).value).toMatchObject({
    ok: true,
    lines: [{ type: 'verified', ok: true, secretId: 'WEBHOOK_SECRET' }],
  })
  const changed = await call('verify', { captures: ['changed.json'] })
  expect(changed.isError).toBe(false)
  expect(changed.value).toMatchObject({
    ok: false,
    lines: [{ code: 'SIGNATURE_MISMATCH', diagnosis: { fix: expect.any(String) } }],
  })
  expect((await call('discover', { captures: ['approved.json'] })).value).toMatchObject({
    ok: true,
    lines: [{ type: 'discovered', result: 'found', code: expect.stringContaining('schemes') }],
  })
})

test('doctor tests receivers of this machine, and no other address than that of --to', async () => {
  const app = await serve(express().post('/webhooks', toExpress(receiver())), '')
  const { call } = await connect(folder(), ['--to', 'https://staging.example.com/webhooks'])
  const sound = await call('doctor', { to: `${app}/webhooks` })
  expect(sound.value.ok).toBe(true)
  expect(sound.value.lines).toContainEqual(
    expect.objectContaining({ type: 'summary', failed: 0, framework: 'express' }),
  )
  for (const to of ['https://example.com/webhooks', 'http://127.0.0.1.example.com/', 'file:///x']) {
    const refused = await call('doctor', { to })
    expect(refused.isError, to).toBe(true)
    expect(refused.text, to).toMatch(/ADDRESS_NOT_ALLOWED.*mcp --to|Pass an address such as/)
  }
})

const mistakes: readonly (readonly [name: string, given: Record<string, unknown>, RegExp])[] = [
  ['inbox_stats', {}, /^USAGE: no inbox given: .*IDV_INBOX/],
  ['inbox_show', {}, /required property 'id'/],
  ['inbox_find', { limit: 1000 }, /<= 100/],
  ['inbox_find', { showPayload: true }, /additional properties/],
  ['verify', { captures: ['missing.json'] }, /^CAPTURE_MISSING: missing\.json does not exist/],
  ['verify', { captures: ['-'] }, /^USAGE: stdin carries the protocol/],
  ['verify', { captures: ['approved.json'], at: 'noon' }, /ISO 8601/],
  ['discover', { captures: [] }, /fewer than 1/],
]

test('an error is an error of the tool, and says what to do', async () => {
  const { cwd } = await project()
  const { call } = await connect(cwd, [])
  for (const [name, given, message] of mistakes) {
    const { isError, text } = await call(name, given)
    expect(text, name).toMatch(message)
    expect(isError, name).toBe(true)
  }
  const beside = await connect(cwd, ['--inbox', 'inbox.db'])
  expect(await beside.call('inbox_show', { id: 'nowhere' })).toMatchObject({
    isError: true,
    text: 'ENTRY_MISSING: the inbox has no entry with this id: inbox_find lists the ids',
  })
})

test('ends with its stdin and at a signal, and refuses a secret on stdin', async () => {
  expect(await run(['mcp'])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  const { child, ended } = start(['mcp'])
  child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  child.kill('SIGTERM')
  expect((await ended).code).toBe(130)
  expect(await run(['mcp', '--secret-file', '-'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('stdin carries the protocol'),
  })
})

test('a pipe that nobody writes into, and a device without an end, hold up neither server nor command', async () => {
  const { cwd } = await project()
  mkdirSync(join(cwd, 'mixed'))
  execFileSync('mkfifo', [join(cwd, 'pipe'), join(cwd, 'mixed/pipe.json')])
  const { call } = await connect(cwd, ['--inbox', 'inbox.db'])
  for (const path of ['pipe', '/dev/zero', '/dev/stdin']) {
    const refused = await call('verify', { captures: [path] })
    expect(refused).toMatchObject({ isError: true })
    expect(refused.text).toContain(`${path} is not a file`)
  }
  expect((await call('inbox_stats')).value).toMatchObject({ done: 1 })
  const mixed = await run(['verify', 'mixed'], { cwd, env: { WEBHOOK_SECRET: secret } })
  expect(mixed.stderr).toContain('mixed/pipe.json is not a file')
  expect(mixed.code).toBe(2)
})
