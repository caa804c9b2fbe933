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

  test('a module that package.json calls CommonJS is refused with the fix', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'package.json'), '{"type":"commonjs"}')
    writeFileSync(join(cwd, 'idv-webhooks.config.js'), `export default { to: '${nowhere}' }`)
    const { code, stderr } = await run(['send', 'client.created'], { cwd, env })
    expect(stderr).toContain('name it idv-webhooks.config.mts or .mjs to make it a module')
    expect(code).toBe(2)
  })

  test('a file that is CommonJS by its package.json is read as that', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'package.json'), '{"type":"commonjs"}')
    const to = await apps.sound()
    writeFileSync(join(cwd, 'idv-webhooks.config.js'), `module.exports = { to: '${to}' }`)
    expect(await run(['send', 'client.created'], { cwd, env })).toMatchObject({ code: 0 })
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
    ['a key with two meanings', '{"rate":5}', "'rate', which means something else in each command"],
    // The filter would narrow an erasure that must be complete.
    ['a tenant for every command', '{"tenant":"acme"}', 'use the flag or its variable'],
    ['consent', '{"yes":true}', "'yes', which is a flag only"],
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

  test('keys of other commands are no error', async () => {
    const cwd = folder()
    const file = { dir: 'x', days: 3, limit: 9 }
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(file))
    const args = ['send', 'client.created', '--to', await apps.sound()]
    expect(await run(args, { cwd, env })).toMatchObject({ code: 0 })
  })

  test('that mean something else in each command have a variable for each', async () => {
    const { server, port } = await taken()
    const env = { IDV_CAPTURE_PORT: String(port) }
    expect(await run(['capture'], { cwd: folder(), env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`port ${port} is in use`),
    })
    server.close()
    expect(await run(['capture'], { env: { IDV_CAPTURE_PORT: 'x' } })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('IDV_CAPTURE_PORT is invalid. Pass a number'),
    })
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
    const variable = { IDV_OVERRIDE: 'id=env_1' }
    expect(await bodyOf([])).toEqual(['file_1', 'file_2'])
    expect(await bodyOf([], variable)).toEqual(['env_1', 'made up'])
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
    expect(await run(['send', 'client.created'], { cwd })).toMatchObject({ code: 2, stdout: '' })
  })

  test('in empty variables do not count, and a folder is not a config file', async () => {
    const cwd = folder()
    const file = { to: await apps.sound() }
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(file))
    const empty = { ...env, IDV_CONFIG: '', IDV_TO: '' }
    const send = ['send', 'client.created']
    expect(await run(send, { cwd, env: empty })).toMatchObject({ code: 0 })
    const ran = await run([...send, '--config', '.'], { cwd })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('is a folder') })
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
      stderr: expect.stringContaining('the file (not shown: it could be a secret) does not exist'),
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
    const unset = await run(send, { cwd, env: { IDV_SECRET_FILE: 'nowhere' } })
    expect(unset.stderr).toContain(
      'error: --secret-file: the file (not shown: it could be a secret)',
    )
    expect(unset.stderr).not.toContain('nowhere')
    inFile({ secretFile: 'nowhere' })
    const named = await run(send, { cwd })
    expect(named.stderr).toContain('--secret-file: the file')
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
    const sent = await run(['send', 'client.created'], { cwd, env })
    expect(sent.stdout + sent.stderr).not.toContain('hush-hush')
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

test('the package names the file as its command', () => {
  const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    bin: Record<string, string>
  }
  expect(join(root, bin['idv-webhooks'] ?? '')).toBe(cli)
  expect(readFileSync(cli, 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/)
})
