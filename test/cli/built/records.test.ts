import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver, type Delivery } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { capture, fixture, signedDelivery } from 'idv-webhooks/testing'
import ts from 'typescript'
import { afterAll, describe, expect, test } from 'vitest'
import { apps, secret } from './apps.ts'
import { folder, root, run, runJson, start } from './run.ts'

const env = { WEBHOOK_SECRET: secret }
const printed = new Map<string, Record<string, unknown>[]>()

/** Runs a command under --json and keeps its lines for the compiler. */
async function keep(
  command: string,
  args: readonly string[],
  options: Parameters<typeof run>[1] = {},
) {
  const { records, code } = await runJson([...command.split(' '), ...args], { env, ...options })
  printed.set(command, [...(printed.get(command) ?? []), ...records])
  return { records, code, types: records.map(({ type }) => type) }
}

/** What the compiler says of lines as values of the exported types; excess keys count. */
function complaints(lines: ReadonlyMap<string, readonly unknown[]>): readonly string[] {
  const file = join(root, 'test/cli/built/printed-records.ts')
  const text = [
    "import type { CliRecord } from 'idv-webhooks/cli'",
    ...[...lines].map(
      ([command, records], at) =>
        `export const of${at}: readonly CliRecord<'${command}'>[] = ${JSON.stringify(records, null, 1)}`,
    ),
  ].join('\n')
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const host = ts.createCompilerHost(options)
  const program = ts.createProgram([file], options, {
    ...host,
    fileExists: (name) => name === file || host.fileExists(name),
    readFile: (name) => (name === file ? text : host.readFile(name)),
    getSourceFile: (name, ...rest) =>
      name === file
        ? ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true)
        : host.getSourceFile(name, ...rest),
  })
  return ts
    .getPreEmitDiagnostics(program, program.getSourceFile(file))
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}

/** An inbox that an application has left, with this in it. */
async function keptInbox(file: string, ...deliveries: readonly Delivery[]): Promise<void> {
  const inbox = createInbox({ store: sqliteStore(file) })
  const own = createReceiver({ secret, inbox })
  await inbox.open()
  for (const delivery of deliveries) await own.receive(delivery)
  await inbox.close()
}

async function captureFile(cwd: string, name: string, redact: boolean) {
  const delivery = await signedDelivery(fixture('verification.approved'), { secret })
  writeFileSync(join(cwd, name), JSON.stringify(await capture(delivery, { redact })))
}

describe('what a command prints under --json is of the exported types', () => {
  test('send and replay', async () => {
    const cwd = folder()
    await captureFile(cwd, 'a.json', false)
    const to = ['--to', await apps.sound()]
    await keep('send', ['client.created', ...to, '--show-payload'])
    await keep('send', ['client.created', ...to, '--fault', 'tampered'])
    await keep('send', ['client.created', '--to', 'http://127.0.0.1:1/'])
    await keep('send', ['client.creted', ...to])
    const { types } = await keep('replay', ['a.json', ...to], { cwd })
    expect(types).toEqual(['sent', 'summary'])
  })

  test('verify and discover', async () => {
    const cwd = folder()
    await captureFile(cwd, 'a.json', false)
    const bare = { headers: [], body: 'e30=' }
    const odd = { headers: [['X-Signature', 'a=1; b=2']], body: 'e30=' }
    const wrong = { headers: [['X-Signature', 'a'.repeat(64)]], body: 'e30=' }
    for (const [name, json] of Object.entries({ bare, odd, wrong })) {
      writeFileSync(join(cwd, `${name}.json`), JSON.stringify(json))
    }
    await keep('verify', ['a.json', 'bare.json'], { cwd })
    const late = { WEBHOOK_SECRET: `${secret}2` }
    await keep('verify', ['a.json'], { cwd, env: late })
    const results = []
    for (const file of ['a', 'bare', 'odd', 'wrong']) {
      const { records } = await keep('discover', [`${file}.json`], { cwd })
      results.push(records[0]?.result)
    }
    expect(results).toEqual(['found', 'no-signature', 'inexpressible', 'no-match'])
  })

  test('doctor', async () => {
    await keep('doctor', ['--url', await apps.sound()])
    await keep('doctor', ['--url', await apps['express.json() first']()])
    await keep('doctor', ['--url', 'http://127.0.0.1:1/'])
    await keep('doctor', [], { env: {} })
  })

  test('capture', async () => {
    const args = ['capture', '--port', '0', '--dir', join(folder(), 'captures'), '--json']
    const { until, ended } = start([...args, '--count', '2', '--forward', await apps.sound()], {
      env,
    })
    const [, url = ''] = await until(/"url":"([^"]+)"/)
    await run(['send', 'client.created', '--to', url], { env })
    await run(['send', 'client.created', '--to', url, '--fault', 'unsigned'], { env })
    const lines = (await ended).stdout.trim().split('\n')
    printed.set(
      'capture',
      lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    )
    expect(lines).toHaveLength(4)
  })

  test('sandbox', async () => {
    const cwd = folder()
    const scenario = {
      version: 1,
      subscriptions: [{ url: await apps.sound(), secret }],
      actions: [{ create: 'client' }],
    }
    writeFileSync(join(cwd, 'scenario.json'), JSON.stringify(scenario))
    const args = ['--port', '0', '--scenario', 'scenario.json', '--once']
    const { types } = await keep('sandbox', args, { cwd })
    expect(types).toEqual(['ready', 'delivery', 'summary', 'closed'])
    await keep('sandbox', args, { cwd, env: {} })
    const { until, ended, child } = start(
      ['sandbox', '--port', '0', '--json', '--subscribe', await apps.sound()],
      { env },
    )
    const [, baseUrl = ''] = await until(/"baseUrl":"([^"]+)"/)
    const headers = { 'x-api-key': 'key_acme', 'content-type': 'application/json' }
    const body = '{"type":"idv","requirements":["document"],"subjectEmail":"ada@example.com"}'
    await fetch(`${baseUrl}/verifications`, { method: 'POST', headers, body })
    await until(/"type":"delivery"/)
    child.kill('SIGINT')
    const lines = (await ended).stdout.trim().split('\n')
    const watched = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
    printed.set('sandbox', [...(printed.get('sandbox') ?? []), ...watched])
    expect(watched.map(({ type }) => type)).toContain('verification')
  })

  test('inbox', async () => {
    const file = join(folder(), 'inbox.db')
    await keptInbox(
      file,
      await signedDelivery(fixture('client.created'), { secret }),
      await signedDelivery(fixture('verification.approved'), { secret }),
      await signedDelivery(new TextEncoder().encode('no JSON'), { secret }),
    )
    const which = ['--file', file]
    const { records } = await keep('inbox list', which)
    const ids = records.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
    expect(ids).toHaveLength(3)
    await keep('inbox list', [...which, '--limit', '1'])
    await keep('inbox show', [...which, ...ids, 'nowhere'])
    await keep('inbox show', [...which, ...ids, '--show-payload'])
    await keep('inbox stats', which)
    for (const deed of ['redrive', 'replay', 'dismiss']) {
      await keep(`inbox ${deed}`, [...which, ...ids, '--yes'])
    }
    await keep('inbox forget', [...which, 'client:cli_1', '--yes'])
    await keep('inbox purge', [...which, '--yes'])
  })

  test('reconcile', async () => {
    const { until, child } = start(['sandbox', '--port', '0', '--json', '--quiet'])
    const [, baseUrl = ''] = await until(/"baseUrl":"([^"]+)"/)
    const headers = { 'x-api-key': 'key_acme', 'content-type': 'application/json' }
    const body = '{"type":"idv","requirements":["document"]}'
    await fetch(`${baseUrl}/verifications`, { method: 'POST', headers, body })
    const file = join(folder(), 'inbox.db')
    await keptInbox(file)
    const args = ['--base-url', baseUrl, '--inbox', file]
    const { types } = await keep('reconcile', [...args, '--since', '2020-01-01'], {
      env: { IDV_API_KEY: 'key_acme' },
    })
    expect(types.at(-1)).toBe('report')
    child.kill('SIGINT')
  })

  test('config, completion and migrate data', async () => {
    await keep('config', [], { env: { ...env, IDV_TO: 'http://a.test/' } })
    await keep('completion', ['bash'])
    await keep('migrate data', ['--dialect', 'sqlite', '--table', 'a', '--column', 'b'])
  })

  test('migrate', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'src'))
    const code = "on('request.approved')\nname.startsWith('request.')\n"
    writeFileSync(join(cwd, 'src/a.ts'), code)
    writeFileSync(join(cwd, 'src/b.ts'), 'on(')
    await keep('migrate code', ['src'], { cwd })
    const delivery = await signedDelivery(fixture('request.approved'), { secret })
    writeFileSync(join(cwd, 'legacy.json'), JSON.stringify(await capture(delivery)))
    await keep('migrate captures', ['legacy.json'], { cwd })
    const { until, child } = start(['sandbox', '--port', '0', '--json', '--quiet'], { env })
    const [, control = ''] = await until(/"control":"([^"]+)"/)
    await fetch(`${control}/subscriptions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"url":"http://127.0.0.1:9/","events":["request.*"],"secret":"a-secret-of-old-days"}',
    })
    const { origin } = new URL(control)
    await keep('migrate subscriptions', [origin], { cwd })
    await keep('migrate subscriptions', [origin, '--apply'], { cwd })
    child.kill('SIGINT')
    await keptInbox(join(cwd, 'inbox.db'), delivery)
    await keep('migrate status', ['--file', 'inbox.db'], { cwd })
  })

  afterAll(async () => {
    expect(complaints(printed)).toEqual([])
    interface Map {
      name: string
      commands: Map[]
    }
    const { commands } = JSON.parse((await run(['--map'])).stdout) as Map
    const all = commands.flatMap(({ name, commands }) =>
      commands.length > 0 ? commands.map((sub) => `${name} ${sub.name}`) : [name],
    )
    expect(all.filter((name) => !printed.has(name))).toEqual([])
  })
})

test('a line of another shape would be found', () => {
  const sent = { type: 'summary', wanted: 1, sent: 1, taken: 1, refused: 0, failed: 0 }
  expect(complaints(new Map([['send', [sent]]]))).toEqual([])
  expect(complaints(new Map([['send', [{ ...sent, more: 1 }]]]))).not.toEqual([])
  expect(complaints(new Map([['send', [{ ...sent, sent: '1' }]]]))).not.toEqual([])
})
