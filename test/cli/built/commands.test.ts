import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { schemes } from 'idv-webhooks'
import { capture, fixture, signedDelivery, testSecret } from 'idv-webhooks/testing'
import { senders, vendors } from 'idv-webhooks/vendors'
import { describe, expect, test } from 'vitest'
import { apps, receiver, secret, serve } from './apps.ts'
import { folder, type RunOptions, root, run, runJson, transcript } from './run.ts'

const env = { WEBHOOK_SECRET: secret }

/** Runs and holds the whole transcript to its file. */
async function golden(name: string, args: readonly string[], options: RunOptions = {}) {
  const ran = await (args.includes('--help') ? help(args) : run(args, options))
  const hidden = { [options.cwd ?? root]: 'CWD' }
  await expect(transcript(args, ran, hidden)).toMatchFileSnapshot(`transcripts/${name}.txt`)
  return ran
}

const helps = new Map<string, ReturnType<typeof run>>()

/** Prints a help, each once for all tests: it depends on nothing else. */
function help(args: readonly string[]): ReturnType<typeof run> {
  const ran = helps.get(args.join(' ')) ?? run(args)
  helps.set(args.join(' '), ran)
  return ran
}

/** A raw capture as a file of a folder. */
async function captureFile(
  cwd: string,
  name: string,
  { sent, ...options }: Parameters<typeof capture>[1] & { readonly sent?: object } = {},
) {
  const delivery = await signedDelivery(sent ?? fixture('verification.approved'), {
    secret,
    now: () => new Date('2026-03-01T10:00:00Z'),
    ...(options.scheme && { scheme: options.scheme }),
  })
  const made = await capture(delivery, options)
  writeFileSync(join(cwd, name), JSON.stringify(made))
  return made
}

test('an error of the package names its page once, on its own line', async () => {
  const to = ['send', 'client.created', '--to', 'http://127.0.0.1:1/']
  const quoted = { env: { WEBHOOK_SECRET: '"a-secret"' } }
  const ran = await golden('error-page', to, quoted)
  expect(ran.code).toBe(2)
  expect(ran.stderr.match(/\S+\/errors\/secret-invalid\.md/g)).toHaveLength(1)
  const { records } = await runJson(to, quoted)
  expect(records[0]?.message).not.toContain('/errors/')
  expect(ran.stderr).toContain(`\n${records[0]?.page}\n`)
})

describe('help', () => {
  const whole = ['sandbox', 'send', 'capture', 'replay', 'verify', 'discover', 'doctor']
  whole.push('reconcile', 'inbox', 'migrate', 'mcp')

  test('of the whole names every command', async () => {
    expect(await golden('help', ['--help'])).toMatchObject({ code: 0, stderr: '' })
  })

  test.each([
    ...whole,
    ...['code', 'subscriptions', 'status'].map((name) => `migrate ${name}`),
    ...['list', 'show', 'stats', 'redrive', 'replay'].map((name) => `inbox ${name}`),
    ...['dismiss', 'forget'].map((name) => `inbox ${name}`),
  ])('of %s has examples', async (command) => {
    const path = command.split(' ')
    const ran = await golden(`help-${path.join('-')}`, [...path, '--help'])
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(ran.stdout).toMatch(/Examples:\n {2}\$ /)
  })

  test('is the same as help <command>', async () => {
    for (const path of [['send'], ['inbox', 'redrive']]) {
      const [long, short] = await Promise.all([help([...path, '--help']), run(['help', ...path])])
      expect(short).toEqual(long)
    }
  })

  test('is also data, for programs', async () => {
    const { stdout, code } = await run(['--map'])
    const map = JSON.parse(stdout) as { commands: { name: string; options: unknown[] }[] }
    expect(map.commands.map(({ name }) => name)).toEqual(whole)
    const send = map.commands.find(({ name }) => name === 'send')
    expect(send?.options).toContainEqual({
      flags: '--to <url>',
      description: 'address to send to',
      variable: 'IDV_TO',
    })
    expect(code).toBe(0)
  })

  test('gives examples of commands and options that there are', async () => {
    interface Map {
      name: string
      commands: Map[]
      options: { flags: string }[]
    }
    const map = JSON.parse((await run(['--map'])).stdout) as Map
    const [readme = '', page = ''] = ['README.md', 'docs/cli.md'].map((file) =>
      readFileSync(join(root, file), 'utf8'),
    )
    const names = map.commands.map(({ name }) => name)
    const sections = [...page.matchAll(/^#{2,3} `([a-z]+)`$/gm)].map(([, name]) => name)
    expect(sections.filter((name) => !names.includes(name ?? ''))).toEqual([])
    const paths = map.commands.flatMap((one) => [
      [one.name],
      ...one.commands.map((sub) => [one.name, sub.name]),
    ])
    const texts = await Promise.all(
      paths.map(async (path) => (await help([...path, '--help'])).stdout),
    )
    const lines = [...texts, readme, page].flatMap(
      (text) => text.match(/idv-webhooks [a-z].*/g) ?? [],
    )
    const calls = lines
      .flatMap((line) => line.split(/ [|&]+ /))
      .filter((line) => /^idv-webhooks [a-z]+ /.test(line))
    expect(calls.length).toBeGreaterThan(25)
    for (const call of calls) {
      const [, name = '', sub] = call.split(' ')
      const command = map.commands.find((one) => one.name === name)
      const flags = [command, command?.commands.find((one) => one.name === sub), map].flatMap(
        (one) => one?.options.flatMap(({ flags }) => flags.match(/--[a-z-]+/g) ?? []) ?? [],
      )
      for (const flag of call.match(/ --[a-z-]+/g) ?? [])
        expect([call, ...flags]).toContain(flag.trim())
    }
  })

  test('the version goes to stdout', async () => {
    expect(await run(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n', stderr: '' })
  })
})

describe('a mistake in the call exits with 2 and writes only to stderr', () => {
  test.each([
    ['nothing', []],
    ['an unknown command', ['sned']],
    ['an unknown option', ['send', '--tto', 'x']],
    ['--url in place of --to', ['send', 'client.created', '--url', 'http://a.test/']],
    ['--forward-to in place of --to', ['replay', 'a.json', '--forward-to', 'http://a.test/']],
    ['--count in place of --times', ['send', 'client.created', '--count=3']],
    ['two events', ['send', 'client.created', 'client.updated']],
    [
      'a missing secret file',
      ['send', 'client.created', '--to', 'http://127.0.0.1:9/', '--secret-file', '.env'],
    ],
    ['an unknown event', ['send', 'verification.aproved', '--to', 'http://127.0.0.1:9/']],
    ['no address', ['send', 'client.created']],
    ['a bad address', ['send', 'client.created', '--to', 'localhost']],
    ['a bad number', ['send', 'client.created', '--times', 'many']],
    ['an unknown fault', ['send', 'client.created', '--fault', 'odd']],
    ['no captures', ['verify']],
    ['a missing capture', ['verify', 'nowhere.json']],
    ['a missing file to send', ['send', '--file', 'nowhere.json', '--to', 'http://127.0.0.1:9/']],
    ['a folder to send', ['send', '--file', 'src', '--to', 'http://127.0.0.1:9/']],
    ['a missing export', ['migrate', 'subscriptions', 'nowhere.json']],
    ['no secret', ['discover', 'package.json']],
    ['an unknown scheme', ['send', 'client.created', '--to', 'http://a.test', '--scheme', 'odd']],
    ['--raw without consent', ['capture', '--raw', '--port', '0']],
    ['half of migrate', ['migrate']],
    ['help with a misspelt command', ['help', 'sned']],
    ['both modes', ['migrate', 'code', '--write', '--check']],
    ['an export that is applied', ['migrate', 'subscriptions', 'export.json', '--apply']],
    ['a secret as an argument', ['send', 'client.created', '--secret', 'abc']],
    ['an address of another protocol', ['send', 'client.created', '--to', 'ftp://a.test']],
    ['a port that is too high', ['sandbox', '--port', '99999']],
    ['no inbox', ['inbox', 'list']],
    ['an inbox that is missing', ['inbox', 'list', '--inbox', 'nowhere.db']],
    ['an inbox of another database', ['inbox', 'list', '--inbox', 'mysql://localhost/app']],
    ['an unknown state', ['inbox', 'list', '--inbox', 'nowhere.db', '--state', 'finished']],
    ['an unknown command of the inbox', ['inbox', 'lst']],
    ['half of a move', ['inbox', 'move', 'inbox.db']],
    ['a folder without captures', ['replay', 'src', '--to', 'http://127.0.0.1:9/']],
    ['a missing config file', ['--config', 'nowhere.mjs', 'send']],
    ['a config file that has other keys', ['--config', 'tsup.config.ts', 'send']],
    ['no address of the API', ['reconcile']],
    ['a folder that is missing', ['migrate', 'code', 'nowhere']],
    ['an address without its option', ['doctor', 'http://127.0.0.1:1/']],
    ['a file without its option', ['inbox', 'stats', 'inbox.db']],
  ])('%s', async (name, args) => {
    const options = /scheme/.test(name) ? { env } : {}
    const ran = await golden(`usage-${name.replaceAll(/\W+/g, '-')}`, args, options)
    expect(ran).toMatchObject({ code: 2, stdout: '' })
    for (const line of ran.stderr.split('\n')) expect(line.length).toBeLessThanOrEqual(200)
  })

  test('without a word of deliveries that never were', async () => {
    const args = ['send', 'client.created', '--to', 'http://127.0.0.1:9/', '--fault', 'stale']
    const { stdout, stderr, code } = await run(args, { env })
    expect(stdout).toBe('')
    expect(stderr).not.toMatch(/0 deliveries/)
    expect(stderr.trim()).not.toBe('')
    expect(code).toBe(2)
  })

  test.each(['no header', 'bad name: x', 'x: bad\u0001value', ': x'])(
    'for a header that is none: %j',
    async (header) => {
      const args = ['send', 'client.created', '--to', 'http://127.0.0.1:9/', '--header', header]
      const { stdout, stderr, code } = await run(args, { env })
      expect([stdout, code]).toEqual(['', 2])
      expect(stderr).toContain("--header must be 'name: value'")
    },
  )

  test('and under --json a line that says so', async () => {
    const { records, code } = await runJson(['send', 'client.created'])
    expect(records).toEqual([
      { type: 'error', code: 'USAGE', message: expect.stringContaining('--to') },
    ])
    expect(code).toBe(2)
  })
})

describe('send', () => {
  test('prints status and time of each', async () => {
    const args = ['send', 'request.approved', '--to', await apps.sound(), '--times', '3']
    expect(await golden('send', args, { env })).toMatchObject({ code: 0 })
  })

  test('sends the overridden fields, each time about a new client', async () => {
    const own = receiver()
    const seen: { id: string | undefined; client: string; city: unknown; phone: boolean }[] = []
    own.on('client.updated', ({ id, data }) => {
      seen.push({ id, client: data.id, city: data.city, phone: 'phone' in data })
    })
    const { toNode } = await import('idv-webhooks/node')
    const to = await serve(toNode(own))
    const overrides = ['--override', 'data.city=Ottawa', '--remove', 'data.phone']
    const args = ['send', 'client.updated', '--to', to, '--times', '2', ...overrides]
    expect(await run(args, { env })).toMatchObject({ code: 0 })
    expect(seen.map(({ city, phone }) => [city, phone])).toEqual(Array(2).fill(['Ottawa', false]))
    expect(new Set(seen.map(({ id }) => id)).size).toBe(2)
    expect(new Set(seen.map(({ client }) => client)).size).toBe(2)
    const named = ['--override', 'data.id=cli_1']
    expect(await run([...args, ...named], { env })).toMatchObject({ code: 0 })
    expect(seen.slice(2).map(({ client }) => client)).toEqual(['cli_1', 'cli_1'])
  })

  test.each(['event.json', '-'])('sends the exact bytes of a file: %s', async (file) => {
    const cwd = folder()
    const input = '{ "event":"x.y",\n"data" : {} }\n'
    writeFileSync(join(cwd, 'event.json'), input)
    const { records, code } = await runJson(
      ['send', '--file', file, '--to', await apps.sound(), '--show-payload'],
      { env, cwd, ...(file === '-' && { input }) },
    )
    expect(records[0]).toMatchObject({
      type: 'sent',
      status: 200,
      outcome: 'ignored',
      body: input,
    })
    expect(code).toBe(0)
  })

  test('hides the payload unless it is asked for', async () => {
    const ran = await run(['send', 'client.created', '--to', await apps.sound()], { env })
    expect(ran.stdout + ran.stderr).not.toMatch(/Robin|example\.com/)
  })

  test.each(['tampered', 'unsigned', 'malformed', 'wrong-secret', 'truncated', 'reserialized'])(
    'with the fault %s is fine when it is refused',
    async (fault) => {
      const args = ['send', 'client.created', '--to', await apps.sound(), '--fault', fault]
      const { records, code } = await runJson(args, { env })
      expect(records[0]).toMatchObject({ status: 401 })
      expect(code).toBe(0)
    },
  )

  test('with a fault fails when it is taken', async () => {
    const url = await apps['no verification']()
    const args = ['send', 'client.created', '--to', url, '--fault', 'tampered']
    expect(await golden('send-fault-taken', args, { env })).toMatchObject({ code: 1 })
  })

  test.each([404, 405, 429])('with a fault fails when nobody verified it: %s', async (status) => {
    const url = await serve((_, response) => response.writeHead(status).end())
    const args = ['send', 'client.created', '--fault', 'tampered', '--to', url]
    const { records, code } = await runJson(args, { env })
    expect([records[0], code]).toMatchObject([{ status }, 1])
    expect(records.at(-1)).toMatchObject({ refused: 0, failed: 1 })
  })

  test('says what to do when nothing listens', async () => {
    const args = ['send', 'client.created', '--to', 'http://127.0.0.1:1/']
    expect(await golden('send-refused', args, { env })).toMatchObject({ code: 1 })
  })

  test('says what to do when a parser was first', async () => {
    const url = await apps['express.json() first']()
    const args = ['send', 'client.created', '--to', url]
    expect(await golden('send-consumed', args, { env })).toMatchObject({ code: 1 })
  })
})

describe('verify', () => {
  test('says yes with the id of the secret', async () => {
    const cwd = folder()
    await captureFile(cwd, 'raw.json', { redact: false })
    await captureFile(cwd, 'redacted.json')
    const args = ['verify', 'raw.json', 'redacted.json']
    expect(await golden('verify-yes', args, { cwd, env })).toMatchObject({ code: 0 })
  })

  test('fails with the proved cause', async () => {
    const cwd = folder()
    const made = await captureFile(cwd, 'raw.json', { redact: false })
    const body = Buffer.from(made.body, 'base64').toString()
    const written = Buffer.from(JSON.stringify(JSON.parse(body), null, 2)).toString('base64')
    writeFileSync(join(cwd, 'changed.json'), JSON.stringify({ ...made, body: written }))
    writeFileSync(join(cwd, 'unsigned.json'), JSON.stringify({ headers: [], body: made.body }))
    const args = ['verify', 'changed.json', 'unsigned.json']
    expect(await golden('verify-no', args, { cwd, env })).toMatchObject({ code: 1 })
    const { records } = await runJson(args, { cwd, env })
    expect(records).toEqual([
      {
        type: 'verified',
        file: 'changed.json',
        scheme: 'service',
        bytes: expect.any(Number),
        ok: false,
        code: 'SIGNATURE_MISMATCH',
        diagnosis: expect.objectContaining({ cause: 'body-reserialized' }),
      },
      expect.objectContaining({ ok: false, code: 'SIGNATURE_MISSING' }),
    ])
  })

  test('judges a signed time by when it came, or as asked', async () => {
    const cwd = folder()
    await captureFile(cwd, 'timed.json', { redact: false, scheme: schemes.timestamped() })
    expect(await run(['verify', 'timed.json'], { cwd, env })).toMatchObject({ code: 0 })
    const late = await runJson(['verify', 'timed.json', '--at', 'now'], { cwd, env })
    expect(late.records).toMatchObject([
      { code: 'TIMESTAMP_OUTSIDE_TOLERANCE', diagnosis: { cause: 'clock-skew' } },
    ])
    expect(late.code).toBe(1)
  })

  test('reads a capture from stdin and secrets from a file, by name', async () => {
    const cwd = folder()
    const input = JSON.stringify(await captureFile(cwd, 'raw.json', { redact: false }))
    const ring = [
      { id: 'old', value: 'another-secret-of-old' },
      { id: 'new', value: secret },
    ]
    writeFileSync(join(cwd, 'ring.json'), JSON.stringify(ring))
    const args = ['verify', '-', '--secret-file', 'ring.json']
    const { records } = await runJson(args, { cwd, input })
    expect(records).toMatchObject([{ ok: true, secretId: 'new' }])
  })
})

describe('replay', () => {
  test('prints the outcome of each capture and a summary', async () => {
    const cwd = folder()
    await captureFile(cwd, 'a.json', { redact: false })
    await captureFile(cwd, 'b.json')
    const args = ['replay', 'a.json', 'b.json', '--to', await apps.sound()]
    expect(await golden('replay', args, { cwd, env })).toMatchObject({ code: 1 })
  })

  test('of a masked capture that is answered 401 gives one hint, --resign', async () => {
    const cwd = folder()
    await captureFile(cwd, 'masked.json')
    const args = ['replay', 'masked.json', '--to', await apps.sound()]
    const { code, stderr } = await run(args, { cwd, env })
    expect(code).toBe(1)
    expect(stderr.trim().split('\n')).toEqual([
      'it is masked, and signed with the test secret: use --resign',
      '1 delivery: 0 accepted, 1 refused, 0 failed',
    ])
    expect((await run([...args, '--resign'], { cwd, env })).code).toBe(0)
  })

  test('signs anew with the local secret, many at a time', async () => {
    const cwd = folder()
    for (const at of Array(12).keys()) {
      await captureFile(cwd, `${at}.json`, { scheme: schemes.timestamped() })
    }
    const { toNode } = await import('idv-webhooks/node')
    const { createReceiver } = await import('idv-webhooks')
    const own = createReceiver({ secret, scheme: schemes.timestamped() })
    const args = ['replay', '.', '--to', await serve(toNode(own)), '--resign']
    const { records, code } = await runJson([...args, '--concurrency', '4'], { cwd, env })
    expect(records.at(-1)).toEqual({
      type: 'summary',
      wanted: 12,
      sent: 12,
      taken: 12,
      refused: 0,
      failed: 0,
    })
    expect(code).toBe(0)
  })
})

describe('discover', () => {
  test('prints the scheme as code to paste', async () => {
    const cwd = folder()
    const scheme = schemes.define({
      name: 'vendor',
      header: 'X-Vendor-Signature',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'base64',
      grammar: { pairs: { signature: 'v1', timestamp: 't' } },
      signed: '{timestamp}.{body}',
    })
    await captureFile(cwd, 'a.json', { redact: false, scheme })
    const ran = await golden('discover', ['discover', 'a.json'], { cwd, env })
    expect(ran.code).toBe(0)
    const { stdout } = await run(['discover', 'a.json', '--json'], { cwd, env })
    writeFileSync(join(cwd, 'scheme.json'), stdout)
    const verified = await run(['verify', 'a.json', '--scheme', 'scheme.json'], { cwd, env })
    expect(verified.code).toBe(0)
  })

  test('names the preset that verifies, as code and for --scheme', async () => {
    const cwd = folder()
    const vendor = vendors.veriff()
    const sent = vendor.fixtures.find(({ name }) => name === 'verification.approved')?.body ?? {}
    await captureFile(cwd, 'a.json', { redact: false, scheme: vendor.scheme, sent })
    const found = await golden('discover-preset', ['discover', 'a.json'], { cwd, env })
    expect(found).toMatchObject({ code: 0 })
    const { records } = await runJson(['discover', 'a.json'], { cwd, env })
    expect(records).toMatchObject([{ result: 'found', presets: ['vendors.veriff()'] }])
    writeFileSync(join(cwd, 'scheme.json'), JSON.stringify(records[0]))
    for (const scheme of ['scheme.json', 'vendors.veriff']) {
      expect(await run(['verify', 'a.json', '--scheme', scheme], { cwd, env })).toMatchObject({
        code: 0,
      })
    }
    // Several senders share this one: their names stand beside the code.
    await captureFile(cwd, 'b.json', { redact: false, scheme: senders.github() })
    const shared = await runJson(['discover', 'b.json'], { cwd, env })
    expect(shared.records).toMatchObject([
      { result: 'found', presets: ['senders.github()', 'senders.meta()'] },
    ])
    expect(shared.records[0]?.code).toContain("header: 'x-hub-signature-256'")
  })

  test('says ambiguous, none and no signature present', async () => {
    const cwd = folder()
    const scheme = schemes.define({
      name: 'vendor',
      header: 'X-Sig',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: 'plain',
      signed: '{id}.{body}',
      id: { header: 'X-Event-Id' },
    })
    const made = await captureFile(cwd, 'a.json', { redact: false, scheme })
    const id = made.headers.find(([name]) => name === 'x-event-id')?.[1] ?? ''
    const twice = { ...made, headers: [...made.headers, ['x-message-id', id]] }
    writeFileSync(join(cwd, 'twice.json'), JSON.stringify(twice).replaceAll(id, 'evt_1'))
    writeFileSync(join(cwd, 'twice.json'), JSON.stringify(twice))
    writeFileSync(join(cwd, 'bare.json'), JSON.stringify({ ...made, headers: [] }))
    const ambiguous = await run(['discover', 'twice.json'], { cwd, env })
    expect(ambiguous).toMatchObject({ code: 1, stdout: expect.stringMatching(/^ambiguous\n/) })
    expect(ambiguous.stderr).toContain('capture one more')
    expect(await run(['discover', 'bare.json'], { cwd, env })).toMatchObject({
      code: 1,
      stdout: 'no signature present\n  bare.json\n',
    })
    const other = { WEBHOOK_SECRET: 'another-secret' }
    expect(await run(['discover', 'a.json'], { cwd, env: other })).toMatchObject({
      code: 1,
      stdout: 'no scheme fits\n',
    })
  })

  test('says that an id is a guess until a second event shows that it changes', async () => {
    const cwd = folder()
    const scheme = schemes.define({
      name: 'vendor',
      header: 'X-Sig',
      algorithm: 'sha256',
      key: 'utf8',
      encoding: 'hex',
      grammar: 'plain',
      signed: '{id}.{body}',
      id: { header: 'X-Event-Id' },
    })
    await captureFile(cwd, 'a.json', { redact: false, scheme })
    const { records, stderr } = await runJson(['discover', 'a.json'], { cwd, env })
    expect(records).toMatchObject([{ result: 'found', idIsGuess: true, next: 'capture one more' }])
    expect(stderr).toContain('x-event-id is only a guess for the id: capture another event')
  })

  test('does not call a signature that no scheme fits missing', async () => {
    const cwd = folder()
    const made = await captureFile(cwd, 'a.json', { redact: false })
    const headers = [['Signature', 'sig1=:AAAA:']]
    writeFileSync(join(cwd, 'a.json'), JSON.stringify({ ...made, headers }))
    expect(await golden('discover-no-match', ['discover', 'a.json'], { cwd, env })).toMatchObject({
      code: 1,
      stdout: 'no scheme fits\n',
    })
  })

  test('warns of captures that were signed again', async () => {
    const cwd = folder()
    await captureFile(cwd, 'a.json')
    const { stderr } = await run(['discover', 'a.json'], { cwd })
    expect(stderr).toContain('capture --raw')
  })
})

describe('doctor', () => {
  test('prints every guarantee of a correct app', async () => {
    const args = ['doctor', '--to', await apps.sound()]
    expect(await golden('doctor-sound', args, { env })).toMatchObject({ code: 0 })
  })

  test('prints the faults of another app: the cause and its fix first, its probes in a line', async () => {
    const args = ['doctor', '--to', await apps['a proxy that re-serialises']()]
    const ran = await golden('doctor-proxy', args, { env })
    expect(ran.code).toBe(1)
    const [cause, fix, fail, next] = ran.stdout.split('\n')
    expect(cause).toMatch(/^cause {3}.*\(reserialized-on-the-way\)$/)
    expect(fix).toMatch(/^fix {5}/)
    expect(fail).toMatch(/^fail {4}9 probes fail for this reason, such as /)
    expect(next).toMatch(/^pass {4}node/)
    expect(ran.stdout).not.toMatch(/holds|fails/)
  })

  test('without an address looks at Node and the secret', async () => {
    expect(await golden('doctor-local', ['doctor'], { env })).toMatchObject({ code: 0 })
    const weak = await runJson(['doctor'], { env: { WEBHOOK_SECRET: testSecret } })
    expect(weak.records).toContainEqual(expect.objectContaining({ state: 'warning' }))
    const short = await run(['doctor'], { env: { WEBHOOK_SECRET: 'a' } })
    expect(short.stdout).toContain('has only 1 character: use 16 or more')
    const broken = await runJson(['doctor'], { env: { WEBHOOK_SECRET: `${secret}\n` } })
    expect(broken.records).toContainEqual(expect.objectContaining({ state: 'failed' }))
    expect(broken.code).toBe(1)
  })
})
