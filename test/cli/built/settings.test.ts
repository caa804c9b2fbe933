import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apps, secret } from './apps.ts'
import { cli, folder, root, run, runJson, start } from './run.ts'

const env = { WEBHOOK_SECRET: secret }
const nowhere = 'http://127.0.0.1:1/'

/** A port that is in use. */
async function taken() {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

describe('settings', () => {
  test('a flag wins over the environment, which wins over the file', async () => {
    const cwd = folder()
    const file = (to: string) =>
      writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify({ to }))
    const to = await apps.sound()
    const send = ['send', 'client.created']
    file(to)
    expect(await run(send, { cwd, env })).toMatchObject({ code: 0 })
    expect(await run(send, { cwd, env: { ...env, IDV_TO: nowhere } })).toMatchObject({ code: 1 })
    file(nowhere)
    expect(await run(send, { cwd, env: { ...env, IDV_TO: to } })).toMatchObject({ code: 0 })
    const flagged = await run([...send, '--to', to], { cwd, env: { ...env, IDV_TO: nowhere } })
    expect(flagged).toMatchObject({ code: 0 })
  })

  test.each([
    [
      'ts',
      'const to: string = "TO"\nexport default { to, secret: "SECRET", times: 2 } satisfies object',
    ],
    ['js', 'export default { to: "TO", secret: "SECRET", times: 2 }'],
    ['mts', 'export default { to: "TO", secret: "SECRET", times: 2 } satisfies object'],
    ['mjs', 'export default { to: "TO", secret: "SECRET", times: 2 }'],
    ['json', '{ "to": "TO", "secret": "SECRET", "times": 2 }'],
  ])('the file may be .%s', async (end, content) => {
    const cwd = folder()
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
    const text = content.replace('TO', await apps.sound()).replace('SECRET', secret)
    writeFileSync(join(cwd, `idv-webhooks.config.${end}`), text)
    const { records, code, stderr } = await runJson(['send', 'client.created'], { cwd })
    expect(stderr).not.toContain('Warning')
    expect(records.at(-1)).toMatchObject({ sent: 2, taken: 2 })
    expect(code).toBe(0)
  })

  test.each(['{"type":"commonjs"}', '{}'])(
    'the file may export by default beside a package.json that says %s',
    async (manifest) => {
      for (const [end, cast] of [
        ['ts', ' satisfies object'],
        ['js', ''],
      ] as const) {
        const cwd = folder()
        writeFileSync(join(cwd, 'package.json'), manifest)
        const text = `import { join } from 'node:path'\nexport default { to: '${nowhere}', secretFile: join('a', 'b') }${cast}\n`
        writeFileSync(join(cwd, `idv-webhooks.config.${end}`), text)
        const { records, code, stderr } = await runJson(['config'], { cwd })
        expect(records).toContainEqual(expect.objectContaining({ key: 'to', value: nowhere }))
        expect(stderr).not.toContain('Warning')
        expect(code).toBe(0)
      }
    },
  )

  test('a file that is CommonJS by its package.json is read as that', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'package.json'), '{"type":"commonjs"}')
    writeFileSync(join(cwd, 'idv-webhooks.config.js'), `module.exports = { to: '${nowhere}' }`)
    const { records } = await runJson(['config'], { cwd })
    expect(records).toContainEqual(expect.objectContaining({ key: 'to', value: nowhere }))
  })

  test('a scheme of the file is used to sign and to verify', async () => {
    const cwd = folder()
    const scheme = `export default {
      scheme: { name: 'own', header: 'X-Own', algorithm: 'sha512', key: 'utf8', encoding: 'hex', grammar: 'plain', signed: '{body}' },
    }`
    writeFileSync(join(cwd, 'own.mjs'), scheme)
    const args = ['send', 'client.created', '--config', 'own.mjs', '--to', await apps.sound()]
    const { records } = await runJson(args, { cwd, env })
    expect(records[0]).toMatchObject({ code: 'SIGNATURE_MISSING' })
  })

  test.each([
    ['an unknown key', '{"tto":"x"}', "unknown key 'tto'. Did you mean 'to'?"],
    ['a wrong value', '{"times":"many"}', 'times is invalid. Pass a number'],
    ['a key of a section', '{"send":{"rat":5}}', "'rat' in the section send. Did you mean 'rate'?"],
    [
      'a key of another section',
      '{"doctor":{"rate":5}}',
      "unknown key 'rate' in the section doctor",
    ],
    ['a key with two meanings', '{"rate":5}', '{ "send": { "rate": … } }'],
    // It would narrow an erasure that is to miss nobody.
    ['a tenant for every command', '{"tenant":"acme"}', '"tenant": … } }'],
    ['a section that is none', '{"send":5}', "must have an object as 'send'"],
    ['consent', '{"yes":true}', "'yes', which is a flag only"],
    ['consent in a section', '{"migrate code":{"force":true}}', "'force', which is a flag only"],
    ['a payload that is shown', '{"showPayload":true}', 'which is a flag only'],
    ['how to speak', '{"json":true}', "'json', which is a flag only"],
    ['colour', '{"color":false}', "'color', which is a flag only"],
    ['no JSON', '{"secret": "hush', 'it is not JSON'],
    ['no object', '[]', 'must export an object'],
  ])('%s in the file is an error that says so', async (_, content, message) => {
    const cwd = folder()
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), content)
    const { code, stderr, stdout } = await run(['send', 'client.created'], { cwd, env })
    expect(stderr).toContain(message)
    expect(stdout + stderr).not.toContain('hush')
    expect(code).toBe(2)
  })

  test('keys of other commands and their sections are no error', async () => {
    const cwd = folder()
    const file = { dir: 'x', dialect: 'sqlite', capture: { port: 1 }, 'inbox list': { limit: 9 } }
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(file))
    const args = ['send', 'client.created', '--to', await apps.sound()]
    expect(await run(args, { cwd, env })).toMatchObject({ code: 0 })
  })

  test('that mean something else in each command have a section and a variable for each', async () => {
    const cwd = folder()
    const { server, port } = await taken()
    const inFile = (section: string) =>
      writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify({ [section]: { port } }))
    inFile('capture')
    expect(await run(['capture'], { cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`port ${port} is in use`),
    })
    inFile('sandbox')
    expect(await run(['capture'], { cwd, env: { IDV_CAPTURE_PORT: 'x' } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('IDV_CAPTURE_PORT is invalid. Pass a number'),
    })
    expect(await run(['sandbox'], { cwd })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`port ${port} is in use`),
    })
    server.close()
  })

  test('of repeatable options are lists, of which the first that is given counts whole', async () => {
    const cwd = folder()
    const file = { override: ['id=file_1', 'data.id=file_2'] }
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(file))
    const args = ['send', 'client.created', '--to', await apps.sound(), '--show-payload']
    const bodyOf = async (flags: readonly string[], more: Record<string, string> = {}) => {
      const { records } = await runJson([...args, ...flags], { cwd, env: { ...env, ...more } })
      const { id, data } = JSON.parse(String(records[0]?.body)) as {
        id: string
        data: { id: string }
      }
      return [id, data.id].map((one) => (/^(file|env|flag)/.test(one) ? one : 'made up'))
    }
    const variable = { IDV_OVERRIDE: '["id=env_1","data.id=env_2"]' }
    expect(await bodyOf([])).toEqual(['file_1', 'file_2'])
    expect(await bodyOf([], variable)).toEqual(['env_1', 'env_2'])
    expect(await bodyOf([], { IDV_OVERRIDE: 'id=env_1' })).toEqual(['env_1', 'made up'])
    expect(await bodyOf(['--override', 'id=flag_1'], variable)).toEqual(['flag_1', 'made up'])
  })

  test('consent never comes from the environment', async () => {
    const all = { IDV_YES: 'true', IDV_RAW: 'true', IDV_FORCE: 'true', IDV_WRITE: 'true' }
    const { code, stderr } = await run(['capture', '--raw', '--port', '0'], { env: all })
    expect(stderr).toContain('pass --yes')
    expect(code).toBe(2)
    const { stdout } = await run(['--map'])
    expect(stdout).not.toMatch(/IDV_(YES|RAW|FORCE|WRITE|APPLY|SHOW_PAYLOAD)/)
  })

  test('every option that takes a value has a variable of its own meaning', async () => {
    interface Map {
      name: string
      commands: Map[]
      options: { flags: string; description: string; variable?: string }[]
    }
    const all = (one: Map): Map[] => [one, ...one.commands.flatMap(all)]
    const maps = all(JSON.parse((await run(['--map'])).stdout) as Map).slice(1)
    const options = maps.flatMap((map) => map.options.map((one) => ({ ...one, command: map.name })))
    const without = options.filter(({ flags, variable }) => /</.test(flags) && !variable)
    expect(without).toEqual([])
    for (const name of ['rate', 'port', 'at']) {
      const variables = options
        .filter(({ flags }) => flags.startsWith(`--${name} `))
        .map(({ variable }) => variable)
      expect(new Set(variables).size, name).toBe(variables.length)
    }
  })

  test('that are broken do not keep help away', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'idv-webhooks.config.js'), 'throw new Error()')
    expect(await run(['send', '--help'], { cwd })).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['completion', 'bash'], { cwd })).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['config'], { cwd })).toMatchObject({ code: 2, stdout: '' })
  })

  test('in empty variables do not count, and a folder is not a config file', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify({ to: nowhere }))
    const { code, records } = await runJson(['config'], {
      cwd,
      env: { IDV_CONFIG: '', IDV_TO: '' },
    })
    expect(code).toBe(0)
    expect(records).toEqual([{ type: 'setting', key: 'to', value: nowhere, source: 'file' }])
    const ran = await run(['config', '--config', '.'], { cwd })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('is a folder') })
  })

  test('in effect are shown with where they come from, secrets only as being there', async () => {
    const cwd = folder()
    const file = {
      to: nowhere,
      times: 3,
      scheme: 'timestamped',
      secret: 'from-the-file',
      send: { rate: 5 },
    }
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(file))
    const ran = await runJson(['config'], {
      cwd,
      env: { ...env, IDV_TIMES: '4', IDV_API_KEY: 'key_private', IDV_TTO: 'x' },
    })
    expect(ran.records).toEqual([
      {
        type: 'setting',
        key: 'secret',
        value: 'WEBHOOK_SECRET (not shown)',
        source: 'environment',
      },
      { type: 'setting', key: 'apiKey', value: '(not shown)', source: 'environment' },
      { type: 'setting', key: 'times', value: '4', source: 'environment' },
      { type: 'setting', key: 'to', value: nowhere, source: 'file' },
      { type: 'setting', key: 'scheme', value: 'timestamped', source: 'file' },
      { type: 'setting', key: 'send.rate', value: '5', source: 'file' },
    ])
    expect(ran.stderr).toContain('IDV_TTO is set, but it is not the variable of an option')
    expect(ran.stdout + ran.stderr).not.toMatch(/from-the-file|key_private/)
  })
})

describe('a secret', () => {
  test.each([
    ['--secret', 'hush-hush'],
    ['--secret=hush-hush'],
    ['--api-key', 'hush-hush'],
    ['--token=hush-hush'],
  ])('is never an argument: %s', async (...flags) => {
    const { code, stdout, stderr } = await run(['send', 'client.created', ...flags])
    expect(code).toBe(2)
    expect(stderr).toContain('Set WEBHOOK_SECRET')
    expect(stdout + stderr).not.toContain('hush-hush')
  })

  test('comes from a file, or stdin', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'secret'), `${secret}\n`)
    const send = ['send', 'client.created', '--to', await apps.sound(), '--secret-file']
    expect(await run([...send, 'secret'], { cwd })).toMatchObject({ code: 0 })
    expect(await run([...send, '-'], { input: `${secret}\n` })).toMatchObject({ code: 0 })
    const missing = await run([...send, 'nowhere'], { cwd })
    expect(missing).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not the secret itself'),
    })
  })

  test('of the environment wins over one of the config file, and a flag over both', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'wrong'), 'another-secret-of-the-file')
    writeFileSync(join(cwd, 'right'), `DATABASE_URL=x\nWEBHOOK_SECRET="${secret}"\n`)
    const send = ['send', 'client.created', '--to', await apps.sound()]
    const inFile = (file: object) =>
      writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(file))
    inFile({ secretFile: 'wrong' })
    expect(await run(send, { cwd })).toMatchObject({ code: 1 })
    expect(await run(send, { cwd, env })).toMatchObject({ code: 0 })
    expect(await run(send, { cwd, env: { IDV_SECRET_FILE: 'right' } })).toMatchObject({ code: 0 })
    inFile({ send: { secretFile: 'wrong' } })
    expect(await run(send, { cwd, env })).toMatchObject({ code: 0 })
    const unset = await run(send, { cwd, env: { IDV_SECRET_FILE: 'nowhere' } })
    expect(unset.stderr).toContain('error: IDV_SECRET_FILE must be the path of a file')
    inFile({ secretFile: 'nowhere' })
    const named = await run(send, { cwd })
    expect(named.stderr).toMatch(/error: secretFile of \S*idv-webhooks\.config\.json must be the/)
    expect(named.stderr).not.toContain('nowhere')
    inFile({ secretFile: 'right' })
    expect(await run(send, { cwd })).toMatchObject({ code: 0 })
    const flagged = await run([...send, '--secret-file', 'wrong'], { cwd, env })
    expect(flagged).toMatchObject({ code: 1 })
  })

  test('is not in the list of processes, nor in what is printed', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'secret'), secret)
    const args = ['send', 'client.created', '--to', await apps.sound(), '--secret-file', 'secret']
    const { child, until, ended } = start([...args, '--times', '100', '--rate', '2'], { cwd })
    await until(/200/)
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')).not.toContain(secret)
    child.kill('SIGINT')
    const { stdout, stderr } = await ended
    expect(stdout + stderr).not.toContain(secret)
  })

  test.each([
    ['--webhook_secret=hush-hush'],
    ['--signing-secret', 'hush-hush'],
    ['--idv_api_key=hush-hush'],
    ['--secrt=hush-hush'],
    ['--secret-file', 'hush-hush'],
    ['--scheme', 'hush-hush'],
  ])('that is passed wrongly is not repeated: %s', async (...args) => {
    const send = ['send', 'client.created', '--to', nowhere]
    const { code, stdout, stderr } = await run([...send, ...args], { env })
    expect(code).toBe(2)
    expect(stdout + stderr).not.toContain('hush-hush')
  })

  test.each([
    ['inbox', 'list', '--state', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['send', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['sandbox', '--port', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    ['doctor', '--to', 'a0a1a2a3a4a5a6a7a8a9b0b1b2b3b4b5'],
    ['verify', 'extra', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ])('in the place of another value is not repeated: %s %s', async (...args) => {
    const { code, stdout, stderr } = await run([...args, '--json'], { env })
    expect(code).toBeGreaterThan(0)
    expect(stdout + stderr).not.toMatch(/MfKQ9r8G|a0a1a2a3/)
  })

  test('in the wrong place of the config file is not shown, nor a password in an address', async () => {
    const cwd = folder()
    const values = {
      scheme: 'hush-hush',
      secretFile: 'hush-hush',
      to: 'http://user:hush-hush@a.test/hooks',
    }
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(values))
    const shown = await run(['config'], { cwd, env: {} })
    expect(shown.stdout).toContain('***@a.test/hooks')
    expect(shown.stdout + shown.stderr).not.toContain('hush-hush')
    const sent = await run(['send', 'client.created'], { cwd, env })
    expect(sent.stdout + sent.stderr).not.toContain('hush-hush')
  })

  test.each([
    ['IDV_INBOX', 'postgres://u@127.0.0.1:1/db?password=hush-hush&sslmode=require'],
    ['IDV_INBOX', 'postgres://u:hush/hush-hush@127.0.0.1:1/db'],
    ['IDV_INBOX', 'postgres://u:hush@hush/hush-hush@127.0.0.1:1/db'],
    ['IDV_INBOX', 'host=127.0.0.1 user=u password=hush-hush dbname=db'],
    ['IDV_TO', 'http://127.0.0.1:1/hooks?api_key=hush-hush'],
    ['IDV_HEADER', '["authorization: Bearer hush-hush"]'],
  ])('in %s is not shown: %s', async (name, value) => {
    const { stdout, stderr } = await run(['config'], { cwd: folder(), env: { [name]: value } })
    expect(stdout).toContain(name === 'IDV_HEADER' ? '(not shown)' : '***')
    expect(stdout + stderr).not.toContain('hush')
  })

  test.each([
    'postgres://u:hush@hush/hush-hush@127.0.0.1:1/db',
    'host=127.0.0.1 user=u password=hush-hush dbname=db',
    'mysql://u:hush-hush@127.0.0.1:1/db',
  ])('of an inbox that is not opened is not shown: %s', async (value) => {
    for (const args of [
      ['inbox', 'stats'],
      ['inbox', 'move', 'env:IDV_INBOX', 'other.db'],
      ['inbox', 'move', 'other.db', 'env:IDV_INBOX'],
      ['reconcile', '--base-url', nowhere, '--since', '2026-03-01'],
    ]) {
      const env = { IDV_INBOX: value, IDV_API_KEY: 'k', WEBHOOK_SECRET: 'a-secret' }
      const { code, stdout, stderr } = await run(args, { cwd: folder(), env })
      expect(code).toBe(2)
      expect(stdout + stderr).not.toContain('hush')
    }
  })

  test('with stray white space is refused with the fix', async () => {
    const args = ['send', 'client.created', '--to', nowhere]
    const { code, stderr } = await run(args, { env: { WEBHOOK_SECRET: 'hush-hush ' } })
    expect(code).toBe(2)
    expect(stderr).toContain('stray white space')
    expect(stderr).not.toContain('hush-hush')
  })
})

describe('completion', () => {
  // The same for every line, so each is printed once.
  const scripts = new Map<string, ReturnType<typeof run>>()
  const printed = (shell: string) => {
    const script = scripts.get(shell) ?? run(['completion', shell])
    scripts.set(shell, script)
    return script
  }
  const complete = async (line: string) => {
    const { stdout } = await printed('bash')
    const words = line.split(' ')
    const script = `${stdout}
      COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})
      COMP_CWORD=${words.length - 1}
      _idv_webhooks
      printf '%s\\n' "\${COMPREPLY[@]}"`
    const cwd = folder()
    return execFileSync('bash', ['-c', script], { cwd, encoding: 'utf8' }).trim().split('\n')
  }

  test.each([
    ['idv-webhooks mi', ['migrate']],
    ['idv-webhooks migrate c', ['code', 'captures']],
    ['idv-webhooks send request.a', ['request.approved']],
    ['idv-webhooks send --ti', ['--times', '--timeout']],
    ['idv-webhooks send client.created --fault wr', ['wrong-secret']],
    ['idv-webhooks migrate data --dialect ', ['sqlite', 'postgres', 'mysql']],
    ['idv-webhooks completion z', ['zsh']],
    ['idv-webhooks send --scheme time', ['timestamped']],
    ['idv-webhooks send client.created --fault = ta', ['tampered']],
    ['idv-webhooks send client.created --fault=ta', ['--fault=tampered']],
    ['idv-webhooks migrate data --dialect = ', ['sqlite', 'postgres', 'mysql']],
    ['idv-webhooks inbox replay --s', ['--since', '--search']],
    ['idv-webhooks send --js', ['--json']],
    ['idv-webhooks --js', ['--json']],
  ])('in bash: %s', async (line, words) => {
    expect((await complete(line)).sort()).toEqual([...words].sort())
  })

  test.each(['zsh', 'fish'])('for %s names every command', async (shell) => {
    const { stdout, code } = await printed(shell)
    for (const name of ['send', 'migrate', 'subscriptions']) expect(stdout).toContain(name)
    expect(code).toBe(0)
  })

  test('for fish offers what is global once, and options by the whole path', async () => {
    const { stdout } = await printed('fish')
    expect(stdout.match(/ -l json /g)).toHaveLength(1)
    expect(stdout).toMatch(/^complete -c idv-webhooks -l json -d /m)
    const at = (path: string) => `-n '__idv_webhooks_at \\\\'${path}\\\\'' `
    const of = (path: string) =>
      stdout.split('\n').filter((line) => line.includes(at(path).replaceAll('\\\\', '\\')))
    expect(of('replay').some((line) => line.includes('-l resign'))).toBe(true)
    expect(of('inbox replay').some((line) => line.includes('-l resign'))).toBe(false)
    expect(of('inbox replay').some((line) => line.includes('-l since'))).toBe(true)
    expect(of('send').find((line) => line.includes('-l scheme'))).toContain('timestamped')
  })

  test('for another shell is a usage error', async () => {
    expect(await run(['completion', 'powershell'])).toMatchObject({ code: 2, stdout: '' })
  })
})

test('the package names the file as its command', () => {
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: Record<string, string>
  }
  expect(join(root, bin['idv-webhooks'] ?? '')).toBe(cli)
  expect(readFileSync(cli, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
})
