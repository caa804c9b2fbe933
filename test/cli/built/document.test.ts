// The guides show what the command prints: every console block is run, and held to its output.
// UPDATE_DOCS=1 writes the output into the document instead.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import express from 'express'
import { createReceiver, createWorker, NonRetryable, schemes, sign } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { capture, fixture, signedDelivery } from 'idv-webhooks/testing'
import { vendors } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import { receiver, secret, serve } from './apps.ts'
import { cli, folder, root, run, start } from './run.ts'

const updating = process.env.UPDATE_DOCS === '1'
const at = '2026-03-01T10:00:00.000Z'

test.each(['docs/cli.md', 'docs/laptop.md', 'docs/operating.md'])(
  'every example of %s prints what it says',
  async (name) => {
    const file = join(root, name)
    const document = readFileSync(file, 'utf8')
    const cwd = folder()
    const app = await serve(
      express()
        .post('/webhooks', toExpress(receiver()))
        .use(express.json())
        .post('/parsed', toExpress(receiver())),
      '',
    )
    const service = await sandboxed()
    await furnish(cwd)
    const real = { 'http://localhost:3000': app, 'http://localhost:4747': service }
    let fresh = document
    const blocks = [...document.matchAll(/```console\n(.*?)```/gs)]
    expect(blocks.length).toBeGreaterThan(0)
    for (const [whole, inside = ''] of blocks) {
      const calls = inside.split('\n').filter((line) => line.startsWith('$ '))
      let shown = ''
      for (const call of calls) {
        const said = await printed(replaced(call.slice(2), real), cwd)
        shown += `${call}\n${presented(said, { call, cwd, real })}`
      }
      if (!updating) expect(normal(inside)).toBe(normal(shown))
      fresh = fresh.replace(whole, () => `\`\`\`console\n${shown}\`\`\``)
    }
    if (updating) writeFileSync(file, fresh)
  },
  120_000,
)

test('docs/cli.md lists every command with its options, and names no other option', async () => {
  const file = join(root, 'docs/cli.md')
  const document = readFileSync(file, 'utf8')
  const map = await commandMap()
  const list = `\`\`\`text\n${map.commands.map((one) => listed(one)).join('')}\`\`\`\n`
  const fresh = document.replace(
    /(<!-- commands -->\n).*?(<!-- \/commands -->)/s,
    (_, before, after) => `${before}${list}${after}`,
  )
  if (updating) writeFileSync(file, fresh)
  else expect(document).toBe(fresh)
  const flags = flagsOf(map)
  const spoken = document.match(/(?<![\w-])--[a-z]+(-[a-z]+)*/g) ?? []
  expect(spoken.filter((flag) => !flags.has(flag) && flag !== '--help')).toEqual([])
})

test('every option of every command is told of in a document', async () => {
  const guides = readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(root, 'docs', name))
  const documents = guides.map((file) => readFileSync(file, 'utf8')).join('\n')
  const told = new Set(documents.match(/(?<![\w-])--[a-z]+(-[a-z]+)*/g))
  expect([...flagsOf(await commandMap())].filter((flag) => !told.has(flag))).toEqual([])
})

interface CommandMap {
  readonly name: string
  readonly summary: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
  readonly commands: readonly CommandMap[]
  readonly options: readonly { readonly flags: string }[]
}

async function commandMap(): Promise<CommandMap> {
  return JSON.parse((await run(['--map'])).stdout) as CommandMap
}

/** The call and what it does, for each subcommand too, then the options of them all. */
function listed(command: CommandMap): string {
  const calls = [command, ...command.commands].map(({ name, summary, arguments: given }, nth) => {
    const operands = given.map((one) => (one.required ? ` <${one.name}>` : ` [${one.name}]`))
    return `${nth === 0 ? '' : `${command.name} `}${name}${operands.join('')}: ${summary}`
  })
  const lines = [' ']
  for (const flag of flagsOf(command)) {
    if (`${lines.at(-1)} ${flag}`.length > 80) lines.push(' ')
    lines.push(`${lines.pop()} ${flag}`)
  }
  return `${[...calls, ...lines].join('\n')}\n`
}

/** The long options of a command and of all below it. */
function flagsOf({ options, commands }: CommandMap): Set<string> {
  const own = options.flatMap(({ flags }) => flags.match(/--[a-z-]+/g) ?? [])
  return new Set([...own, ...commands.flatMap((one) => [...flagsOf(one)])])
}

/** The output of a shell line at a terminal; a recorder gets one delivery to record. */
async function printed(line: string, cwd: string): Promise<string> {
  const child = spawn(
    'sh',
    ['-c', `${line.replace('--port 4000', '--port 0').replace('--port 4747', '--port 0')} 2>&1`],
    {
      cwd,
      env: {
        ...process.env,
        PATH: `${join(cwd, 'bin')}:${process.env.PATH}`,
        WEBHOOK_SECRET: secret,
        IDV_API_KEY: 'key_acme',
        LANG: 'C.UTF-8',
        NO_COLOR: '1',
      },
    },
  )
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  let recorded = !line.includes('idv-webhooks capture')
  child.stdout.on('data', async (part) => {
    said += part
    const [, url] = /listening on (\S+),/.exec(said) ?? []
    if (recorded || url === undefined) return
    recorded = true
    const body = JSON.stringify(fixture('verification.approved'))
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    await fetch(url, { method: 'POST', body, headers })
  })
  await once(child, 'close')
  return said
}

/** A sandbox with one verification for the client of its API. */
async function sandboxed(): Promise<string> {
  const { until } = start(['sandbox', '--port', '0', '--json', '--quiet'])
  const [, url = ''] = await until(/"url":"([^"]+)"/)
  const body = '{"type":"idv","requirements":["document"]}'
  const headers = { 'x-api-key': 'key_acme', 'content-type': 'application/json' }
  await fetch(`${url}/v2/api/verifications`, { method: 'POST', headers, body })
  return url
}

/** The folder in which the examples are called. */
async function furnish(cwd: string): Promise<void> {
  mkdirSync(join(cwd, 'bin'))
  mkdirSync(join(cwd, 'src'))
  const write = (name: string, content: unknown) =>
    writeFileSync(join(cwd, name), typeof content === 'string' ? content : JSON.stringify(content))
  write('bin/idv-webhooks', `#!/bin/sh\nexec '${process.execPath}' '${cli}' "$@"\n`)
  chmodSync(join(cwd, 'bin/idv-webhooks'), 0o755)
  const now = () => new Date(at)
  const delivery = await signedDelivery(fixture('verification.approved'), { secret, now })
  const raw = await capture(delivery, { redact: false })
  write('approved.json', raw)
  write('redacted.json', await capture(delivery))
  const body = Buffer.from(raw.body, 'base64').toString()
  const spelled = Buffer.from(JSON.stringify(JSON.parse(body), null, 2)).toString('base64')
  write('changed.json', { ...raw, body: spelled })
  const scheme = schemes.define({
    name: 'vendor',
    header: 'X-Vendor-Signature',
    algorithm: 'sha256',
    key: 'utf8',
    encoding: 'base64',
    grammar: { prefix: 'v1=' },
    signed: '{id}.{timestamp}.{body}',
    id: { header: 'X-Vendor-Id' },
    timestamp: { header: 'X-Vendor-Time' },
  })
  for (const [number, name] of [
    [1, 'client.created'],
    [2, 'client.deleted'],
  ] as const) {
    const sent = await signedDelivery(fixture(name), { secret, scheme, now })
    write(`vendor-${number}.json`, await capture(sent, { redact: false, scheme }))
  }
  const veriff = vendors.veriff()
  const approval = veriff.fixtures.find(({ name }) => name === 'verification.approved')?.body ?? {}
  const decided = await signedDelivery(approval, { secret, scheme: veriff.scheme, now })
  write('veriff.json', await capture(decided, { redact: false, scheme: veriff.scheme }))
  write('src/handlers.ts', "receiver.on('request.approved', greet)\n")
  write('idv-webhooks.config.json', { timeout: 10 })
  await inboxAt(join(cwd, 'inbox.db'))
  await inboxAt(join(cwd, 'missed.db'))
  await inboxAt(join(cwd, 'app.db'), true)
}

/** An inbox with two entries; one of them may have been done and the other be a dead letter. */
async function inboxAt(path: string, worked = false): Promise<void> {
  const inbox = createInbox({ store: sqliteStore(path), now: () => new Date() })
  const own = createReceiver({ secret, inbox, observe: () => {} })
  own.on('client.created', () => {}, { id: 'crm' })
  own.on('verification.approved', () => {
    throw new NonRetryable('there is no such account')
  })
  await inbox.open()
  const data = { ...fixture('client.created').data, id: 'cli_42' }
  const given = { data, createdAt: new Date().toISOString() }
  await own.receive(await signedDelivery(fixture('client.created', given), { secret }))
  await own.receive(await signedDelivery(fixture('verification.approved'), { secret }))
  if (worked) await createWorker(own).runOnce()
  await inbox.close()
}

function replaced(text: string, real: Readonly<Record<string, string>>): string {
  return Object.entries(real).reduce((all, [shown, url]) => all.replaceAll(shown, url), text)
}

interface Shown {
  readonly call: string
  readonly cwd: string
  readonly real: Readonly<Record<string, string>>
}

/** As a reader would see it: the ports of the call, and no folder of the test. */
function presented(said: string, { call, cwd, real }: Shown): string {
  const text = Object.entries(real).reduce((all, [shown, url]) => all.replaceAll(url, shown), said)
  const port = /--port (\d+)/.exec(call)?.[1]
  const ported =
    port === undefined ? text : text.replaceAll(/127\.0\.0\.1:\d+/g, `127.0.0.1:${port}`)
  return ported.replaceAll(`${cwd}/`, './').replaceAll(cwd, '.')
}

/** Without what differs from run to run. */
function normal(text: string): string {
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/ *\d+(\.\d+)? ms/g, ' N ms')
    .replaceAll(/"milliseconds":[\d.]+/g, '"milliseconds":N')
    .replaceAll(/\d{8}T\d{6}Z/g, 'TIME')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ID')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}(?= {2})/g, 'ID')
    .replaceAll(/\b\d\d-\d\d \d\d:\d\d\b/g, 'TIME')
    .replaceAll(/Node \d+\.\d+\.\d+/g, 'Node N')
    .replaceAll(/oldest +.* open/g, 'oldest SOME open')
    .replaceAll(/lag +\S.*/g, 'lag SOME')
    .replaceAll(/\b(p\d\d|longest) +(\d+ \w+|N ms)/g, '$1 SOME')
}
