// The server is spoken to by the official client, over the stdio of the built command.
import { execFileSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { createReceiver, createWorker, NonRetryable } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { fixture, signedDelivery } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { secret } from './apps.ts'
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
  return { cwd, inbox }
}

test('lists its tools: all of them read, and none takes a secret or an inbox', async () => {
  const { client } = await connect(folder(), [])
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(['inbox_find', 'inbox_show', 'inbox_stats'])
  expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true)
  const given = tools.flatMap(({ inputSchema }) => Object.keys(inputSchema.properties ?? {}))
  expect(given).toContain('entity')
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

const mistakes: readonly (readonly [name: string, given: Record<string, unknown>, RegExp])[] = [
  ['inbox_stats', {}, /^USAGE: no inbox given: .*IDV_INBOX/],
  ['inbox_show', {}, /required property 'id'/],
  ['inbox_find', { limit: 1000 }, /<= 100/],
  ['inbox_find', { showPayload: true }, /additional properties/],
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

test('ends with its stdin and at a signal', async () => {
  expect(await run(['mcp'])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  const { child, ended } = start(['mcp'])
  child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  child.kill('SIGTERM')
  expect((await ended).code).toBe(130)
})

test('a pipe without a writer and a device without an end do not block verify', async () => {
  const cwd = folder()
  mkdirSync(join(cwd, 'mixed'))
  execFileSync('mkfifo', [join(cwd, 'pipe'), join(cwd, 'mixed/pipe.json')])
  for (const path of ['pipe', '/dev/zero', '/dev/stdin', 'mixed']) {
    const { code, stderr } = await run(['verify', path], { cwd, env: { WEBHOOK_SECRET: secret } })
    expect(stderr).toContain(`${path === 'mixed' ? 'mixed/pipe.json' : path} is not a file`)
    expect(code).toBe(2)
  }
})
