import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { capture, fixture, signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { apps, secret, serve } from './apps.ts'
import { folder, root, run, runAtTerminal, runProcess, start, startAtTerminal } from './run.ts'

const env = { WEBHOOK_SECRET: secret }
const control = '\u001b['

describe('at a terminal', () => {
  test('there is colour and progress', async () => {
    const args = ['send', 'client.created', '--to', await apps.sound(), '--times', '2']
    const { screen, code } = await runAtTerminal(args, { env })
    expect(screen).toContain(`${control}32m200${control}39m`)
    expect(screen).toContain('1/2 sent')
    expect(screen).toContain('2 deliveries: 2 accepted, 0 refused, 0 failed')
    expect(code).toBe(0)
  })

  test.each([
    ['NO_COLOR', { ...env, NO_COLOR: '1' }, []],
    ['--no-color', env, ['--no-color']],
  ])('there is no colour with %s', async (_, env, flags) => {
    const args = ['send', 'client.created', '--to', await apps.sound(), ...flags]
    const { screen } = await runAtTerminal(args, { env })
    expect(screen).not.toContain(`${control}32m`)
    expect(screen).toContain('200')
  })

  test('--raw asks for a yes, and a no ends it', async () => {
    const args = ['capture', '--raw', '--port', '0', '--dir', join(folder(), 'private')]
    const { screen, code } = await runAtTerminal(args, { input: 'no\r' })
    expect(screen).toContain('Type yes to continue:')
    expect(screen).toContain('aborted: not confirmed')
    expect(code).toBe(2)
  })
})

/** The byte that Ctrl-C types. */
const interrupt = '\u0003'

describe('at a terminal, of every long or asking command', () => {
  const examples = join(root, 'examples/captures')

  test('capture shows each delivery in colour, and Ctrl-C ends it with 130', async () => {
    const dir = join(folder(), 'captures')
    const { until, press, ended } = startAtTerminal(['capture', '--port', '0', '--dir', dir], {
      env,
    })
    const [, url = ''] = await until(/listening on [^h]*(http:\/\/[\d.:]+)/)
    await run(['send', 'client.created', '--to', url], { env })
    await until(/client\.created\.json/)
    press(interrupt)
    const { screen, code } = await ended
    expect(screen).toContain(`${control}32msigned${control}39m`)
    expect(screen).toMatch(/1 capture saved in /)
    expect(code).toBe(130)
    for (const file of readdirSync(dir)) JSON.parse(readFileSync(join(dir, file), 'utf8'))
  })

  test.each([
    ['once', interrupt],
    ['twice', interrupt + interrupt],
    ['in the middle of a word', `ye${interrupt}`],
  ])('--raw is left with 130 by Ctrl-C, %s, and nothing is made', async (_, keys) => {
    const dir = join(folder(), 'private')
    const { until, press, ended } = startAtTerminal(['capture', '--raw', '--dir', dir])
    await until(/Type yes to continue: /)
    press(keys)
    const { screen, code } = await ended
    expect(screen).toContain('interrupted')
    expect(code).toBe(130)
    expect(existsSync(dir)).toBe(false)
  })

  test('replay shows progress, and Ctrl-C ends it with 130 and a summary', async () => {
    const args = ['replay', ...Array(20).fill(examples), '--to', await apps.sound(), '--resign']
    const { until, press, ended } = startAtTerminal([...args, '--rate', '2'], { env })
    await until(/1\/20 sent/)
    press(interrupt)
    const { screen, code } = await ended
    expect(screen).toMatch(/\d+ accepted, 0 refused, 0 failed, \d+ not sent/)
    expect(code).toBe(130)
  })

  test('send is left with 130 by Ctrl-C', async () => {
    const args = ['send', 'client.created', '--to', await apps.sound(), '--times', '100']
    const { until, press, ended } = startAtTerminal([...args, '--rate', '2'], { env })
    await until(/1\/100 sent/)
    press(interrupt)
    expect((await ended).code).toBe(130)
  })

  test('the sandbox shows what happens, and Ctrl-C ends it with 130', async () => {
    const receiving = await apps.sound()
    const { until, press, ended } = startAtTerminal(['sandbox', '--port', '0', '--to', receiving], {
      env,
    })
    const [, api = ''] = await until(/API +(http\S+)/)
    await until(/seed/)
    const response = await fetch(`${api}/clients`, {
      method: 'POST',
      headers: { 'x-api-key': 'key_acme', 'content-type': 'application/json' },
      body: '{"type":"individual","firstName":"Ada","lastName":"Lovelace"}',
    })
    expect(response.status).toBe(201)
    await until(/client\.created → .*200/)
    press(interrupt)
    const { screen, code } = await ended
    expect(screen).toContain('secret   (from WEBHOOK_SECRET)')
    expect(screen).not.toMatch(/Ada|Lovelace/)
    expect(code).toBe(130)
  })

  test('doctor counts its probes, and Ctrl-C ends it with 130', async () => {
    const url = await apps.sound()
    const whole = await runAtTerminal(['doctor', '--to', url], { env })
    expect(whole.screen).toMatch(/1\/\d+ probes: /)
    expect(whole.screen).toContain(`${control}32mpass`)
    expect(whole.code).toBe(0)
    const silent = await serve(() => {})
    const { until, press, ended } = startAtTerminal(['doctor', '--to', silent], { env })
    await until(/asks whether/)
    press(interrupt)
    expect((await ended).code).toBe(130)
  })

  test('inbox list colours states, and a deed asks for a yes', async () => {
    const file = join(folder(), 'inbox.db')
    const inbox = createInbox({ store: sqliteStore(file) })
    const own = createReceiver({ secret, inbox })
    await inbox.open()
    await own.receive(await signedDelivery(fixture('client.created'), { secret }))
    await inbox.close()
    const { screen, code } = await runAtTerminal(['inbox', 'list', '--inbox', file])
    expect(screen).toContain(`${control}36mstored`)
    expect(code).toBe(0)
    const forget = ['inbox', 'forget', '--inbox', file, 'client:cli_1']
    const { until, press, ended } = startAtTerminal(forget)
    await until(/Type yes to continue: /)
    press(interrupt)
    expect((await ended).code).toBe(130)
  })

  test('discover and verify colour their findings', async () => {
    const yes = await runAtTerminal(['verify', examples])
    expect(yes.screen).toContain(`${control}32myes`)
    const cwd = folder()
    const delivery = await signedDelivery(fixture('client.created'), { secret })
    writeFileSync(join(cwd, 'raw.json'), JSON.stringify(await capture(delivery, { redact: false })))
    const found = await runAtTerminal(['discover', 'raw.json'], { cwd, env })
    expect(found.screen).toContain(`${control}32mfound`)
    expect([yes.code, found.code]).toEqual([0, 0])
  })
})

test('text from outside cannot control the terminal', async () => {
  const cwd = folder()
  const evil = '\u001b]0;x\u0007 \u009b2J \u202e.js'
  writeFileSync(join(cwd, evil), "on('request.approved')\n")
  const { screen } = await runAtTerminal(['migrate', 'code'], { cwd })
  expect(screen).toContain('\\u001b]0;x\\u0007 \\u009b2J \\u202e.js')
  for (const raw of ['\u001b]0', '\u0007', '\u009b', '\u202e']) expect(screen).not.toContain(raw)
  const json = await run(['verify', '\u2066\u061c\u009b\u200b.json', '--json'], { cwd, env })
  expect(json.stdout).not.toMatch(/[\u061c\u009b\u200b\u2066]/)
  expect(JSON.parse(json.stdout).message).toContain('\u2066\u061c\u009b\u200b.json')
})

test('a line break in quoted text begins no line of an error', async () => {
  const cwd = folder()
  const file = join(cwd, 'a.json')
  writeFileSync(file, JSON.stringify({ version: 'x\n::error::y', headers: [], body: '' }))
  const { stderr } = await run(['verify', file], { env })
  expect(stderr).toContain('the capture has version x ::error::y: this program reads version 1')
  for (const args of [
    ['ver\n::error::y'],
    ['verify', '--nix\n::error::y'],
    ['verify', 'x\r\n::error::y'],
  ]) {
    const { code, stderr } = await run(args, { env })
    expect(code).toBe(2)
    expect(stderr).toContain('::error::y')
    expect(stderr).not.toMatch(/^::error/m)
  }
})

test('help wraps at 60 columns, between words', async () => {
  const { stdout } = await run(['send', '--help'], { nodeArgs: ['--import', columns(60)] })
  const [usage = ''] = stdout.split('Examples:')
  expect(Math.max(...usage.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60)
  expect(usage).toMatch(/\n {20,}\S/)
})

/** Makes Node believe that stdout is a terminal of this width. */
const columns = (width: number) =>
  `data:text/javascript,process.stdout.isTTY=true;process.stdout.columns=${width}`

describe('elsewhere', () => {
  test('there is neither', async () => {
    const args = ['send', 'client.created', '--to', await apps.sound(), '--times', '2']
    const { stdout, stderr } = await run(args, { env })
    expect(stdout + stderr).not.toContain('\u001b')
    expect(stderr).not.toContain('1/2')
  })

  test('FORCE_COLOR turns colour on', async () => {
    const args = ['send', 'client.created', '--to', await apps.sound()]
    const { stdout } = await runProcess(args, { env: { ...env, FORCE_COLOR: '1' } })
    expect(stdout).toContain(`${control}32m200`)
  })

  test('what comes from outside cannot steer the terminal', async () => {
    const cwd = folder()
    const name = 'odd\u001b[31m.json'
    writeFileSync(
      join(cwd, name),
      readFileSync(join(root, 'examples/captures/request-approved.json')),
    )
    const { stdout } = await run(['verify', name], { cwd })
    expect(stdout).toContain('odd\\u001b[31m.json')
  })
})

describe('Ctrl-C', () => {
  test('ends a long run with 130 and a summary', async () => {
    const args = ['send', 'client.created', '--to', await apps.sound()]
    const { child, until, ended } = start([...args, '--times', '1000', '--rate', '5'], { env })
    await until(/200/)
    child.kill('SIGINT')
    const { code, stderr } = await ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/^\d+ deliver\w+: \d+ accepted, 0 refused, 0 failed, \d+ not sent\n/)
  })

  test('ends a recording with 130, and every file is whole', async () => {
    const dir = join(folder(), 'captures')
    const { child, until, ended } = start(['capture', '--port', '0', '--dir', dir], { env })
    const [, url = ''] = await until(/listening on (http:\S+),/)
    await run(['send', 'client.created', '--to', url, '--times', '5'], { env })
    child.kill('SIGINT')
    expect((await ended).code).toBe(130)
    const files = readdirSync(dir)
    expect(files.length).toBe(5)
    for (const file of files) JSON.parse(readFileSync(join(dir, file), 'utf8'))
  })

  test('leaves sources whole, renamed or not', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'src'))
    const line = "on('request.approved')\n"
    const before = line.repeat(50)
    const after = before.replaceAll('request', 'verification')
    const states = new Set<string>()
    for (const at of Array(1500).keys()) writeFileSync(join(cwd, 'src', `${at}.ts`), before)
    const { child, ended } = start(['migrate', 'code', 'src', '--write', '--json'], { cwd })
    child.stdout?.once('data', () => child.kill('SIGINT'))
    expect((await ended).code).toBe(130)
    for (const file of readdirSync(join(cwd, 'src'))) {
      expect(file).toMatch(/^\d+\.ts$/)
      const text = readFileSync(join(cwd, 'src', file), 'utf8')
      expect([before, after]).toContain(text)
      states.add(text)
    }
    expect(states).toEqual(new Set([before, after]))
  })
})

test('a reader that leaves early is no error to see', async () => {
  const { execFileSync } = await import('node:child_process')
  const { cli } = await import('./run.ts')
  const out = execFileSync(
    'bash',
    ['-c', `'${process.execPath}' '${cli}' --map | head -c 20; echo`],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  expect(out).toMatch(/^\{/)
})

test('an old Node says so in one line and exits 1', async () => {
  const cwd = folder()
  const version = "Object.defineProperty(process.versions, 'node', { value: '20.19.0' })"
  writeFileSync(join(cwd, 'old.mjs'), version)
  const ran = await run(['--help'], { nodeArgs: ['--import', join(cwd, 'old.mjs')] })
  expect(ran).toEqual({
    stdout: '',
    stderr:
      'idv-webhooks needs Node 22.18 or newer, and this is 20.19.0: install a newer one (https://nodejs.org), or put it first in PATH\n',
    code: 1,
  })
})

test('an old Node could read the file that tells it', () => {
  const text = readFileSync(join(root, 'dist/cli.js'), 'utf8')
  const young = text.split('\n').filter((line) => /^import\b|\?\?|\?\./.test(line))
  // Every Node with modules at all has this one.
  expect(
    young.filter((line) => !/^import ?\{ ?createRequire\b.*\bfrom ?'node:module'/.test(line)),
  ).toEqual([])
})
