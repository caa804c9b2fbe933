import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { apps, secret } from './apps.ts'
import { cli, folder, root, run, runJson, start } from './run.ts'

const env = { WEBHOOK_SECRET: secret }
const nowhere = 'http://127.0.0.1:1/'

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
    ['an unknown key', '{"tto":"x"}', "unknown key 'tto'"],
    ['a wrong value', '{"times":"many"}', 'times give a number'],
    ['no JSON', '{"secret": "hush', 'it is no JSON'],
    ['no object', '[]', 'gives no object'],
  ])('%s in the file is an error that says so', async (name, content, message) => {
    const cwd = folder()
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), content)
    const command = name === 'an unknown key' ? ['config'] : ['send', 'client.created']
    const { code, stderr } = await run(command, { cwd, env })
    expect(stderr).toContain(message)
    expect(stderr).not.toContain('hush')
    expect(code).toBe(2)
  })

  test('that are broken do not keep help away', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'idv-webhooks.config.js'), 'throw new Error()')
    expect(await run(['send', '--help'], { cwd })).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['completion', 'bash'], { cwd })).toMatchObject({ code: 0, stderr: '' })
    expect(await run(['config'], { cwd })).toMatchObject({ code: 2, stdout: '' })
  })

  test('in effect are shown with where they come from, secrets only as being there', async () => {
    const cwd = folder()
    const file = { to: nowhere, times: 3, scheme: 'timestamped', secret: 'from-the-file' }
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), JSON.stringify(file))
    const ran = await runJson(['config'], {
      cwd,
      env: { ...env, IDV_TIMES: '4', IDV_API_KEY: 'key_private' },
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
    ])
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
    expect(stderr).toContain('set WEBHOOK_SECRET')
    expect(stdout + stderr).not.toContain('hush-hush')
  })

  test('comes from a file, or stdin', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'secret'), `${secret}\n`)
    const send = ['send', 'client.created', '--to', await apps.sound(), '--secret-file']
    expect(await run([...send, 'secret'], { cwd })).toMatchObject({ code: 0 })
    expect(await run([...send, '-'], { input: `${secret}\n` })).toMatchObject({ code: 0 })
    const missing = await run([...send, 'nowhere'], { cwd })
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('cannot be read') })
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

  test('with stray white space is refused with the fix', async () => {
    const args = ['send', 'client.created', '--to', nowhere]
    const { code, stderr } = await run(args, { env: { WEBHOOK_SECRET: 'hush-hush ' } })
    expect(code).toBe(2)
    expect(stderr).toContain('stray white space')
    expect(stderr).not.toContain('hush-hush')
  })
})

describe('completion', () => {
  const complete = async (line: string) => {
    const { execFileSync } = await import('node:child_process')
    const { stdout } = await run(['completion', 'bash'])
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
  ])('in bash: %s', async (line, words) => {
    expect((await complete(line)).sort()).toEqual([...words].sort())
  })

  test.each(['zsh', 'fish'])('for %s names every command', async (shell) => {
    const { stdout, code } = await run(['completion', shell])
    for (const name of ['send', 'migrate', 'subscriptions']) expect(stdout).toContain(name)
    expect(code).toBe(0)
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
