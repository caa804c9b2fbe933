import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sign } from 'idv-webhooks'
import { capture, fixture, signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, test } from 'vitest'
import { apps, secret } from './apps.ts'
import { cli, folder, run, runJson, runProcess, start } from './run.ts'

const env = { WEBHOOK_SECRET: secret }
const taken = async () =>
  JSON.stringify(await capture(await signedDelivery(fixture('client.created'), { secret })))

describe('odd files', () => {
  test('an output that is full is 1', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'a.json'), await taken())
    const line = `'${process.execPath}' '${cli}' verify a.json > /dev/full`
    const child = spawn('sh', ['-c', line], { cwd, env: { ...process.env, ...env } })
    const [code] = await once(child, 'close')
    expect(code).toBe(1)
  })

  test('a config file that never ends loading is a failure', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'idv-webhooks.config.mjs'), 'await new Promise(() => {})')
    writeFileSync(join(cwd, 'a.json'), await taken())
    expect(await runProcess(['verify', 'a.json'], { cwd, env })).toMatchObject({ code: 1 })
  })

  test('a variable that holds a secret in place of an inbox is not shown', async () => {
    const cwd = folder()
    for (const args of [
      ['inbox', 'stats', '--inbox', 'env:WEBHOOK_SECRET'],
      ['inbox', 'move', 'env:WEBHOOK_SECRET', 'other.db', '--dry-run'],
    ]) {
      const { stderr, code } = await run(args, {
        cwd,
        env: { WEBHOOK_SECRET: 'pass phrase of ours' },
      })
      expect(stderr).toContain('the variable WEBHOOK_SECRET')
      expect(stderr).not.toContain('phrase')
      expect(code).toBe(2)
    }
  })

  test('a link to itself and a name that is too long are missing files', async () => {
    const cwd = folder()
    symlinkSync('loop.json', join(cwd, 'loop.json'))
    for (const name of ['loop.json', 'x'.repeat(5000)]) {
      const ran = await run(['verify', name], { cwd, env })
      expect(ran).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringMatching(/does not exist: check the path\n$/),
      })
      expect((await run(['migrate', 'code', name], { cwd })).code).toBe(2)
    }
  })

  test('a byte order mark before a capture or a config file is no fault', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'a.json'), `\uFEFF${await taken()}`)
    writeFileSync(join(cwd, 'idv-webhooks.config.json'), '\uFEFF{"timeout":5}')
    expect(await run(['verify', 'a.json'], { cwd, env })).toMatchObject({ code: 0 })
  })

  test('a stray one in a folder does not keep the others from being read', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'captures'))
    writeFileSync(join(cwd, 'captures/a.json'), '{"name":"no capture"}')
    writeFileSync(join(cwd, 'captures/b.json'), await taken())
    const ran = await runJson(['verify', 'captures'], { cwd, env })
    expect(ran.code).toBe(1)
    expect(ran.records).toMatchObject([
      { type: 'unreadable', file: 'captures/a.json' },
      { type: 'verified', file: 'captures/b.json', ok: true },
    ])
    expect(ran.stderr).toContain('skipped captures/a.json')
    expect((await run(['verify', 'captures/a.json'], { cwd, env })).code).toBe(2)
  })
})

describe('odd words', () => {
  test('stdin is read once', async () => {
    for (const args of [
      ['-', '-'],
      ['-', '--secret-file', '-'],
    ]) {
      const ran = await run(['verify', ...args], { env, input: await taken() })
      expect(ran).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('can be read only once'),
      })
    }
  })

  test('an empty secret from stdin is none', async () => {
    const to = ['--to', 'http://127.0.0.1:9/']
    const ran = await run(['send', 'client.created', ...to, '--secret-file', '-'], { env })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('stdin is empty') })
  })

  test('an empty variable is unset', async () => {
    const to = await apps.sound()
    const ran = await run(['send', 'client.created', '--to', to], {
      env: { ...env, IDV_TIMEOUT: '' },
    })
    expect(ran.code).toBe(0)
  })

  test('a name that is no event is called one', async () => {
    const ran = await run(['send', 'client.creatd', '--to', 'http://127.0.0.1:9/'], { env })
    expect(ran).toMatchObject({
      code: 2,
      stderr: "error: unknown event 'client.creatd'. Did you mean 'client.created'?\n",
    })
  })

  test('a time that no timer can wait is refused', async () => {
    const to = await apps.sound()
    const args = ['send', 'client.created', '--to', to, '--timeout']
    expect(await run([...args, '2147484'], { env })).toMatchObject({ code: 2 })
    expect(await run([...args, '2147483'], { env })).toMatchObject({ code: 0 })
  })

  test('one probe that fails does not hold', async () => {
    const ran = await run(['doctor', '--to', 'http://127.0.0.1:9/'], { env })
    expect(ran.stderr).toContain('0 of 1 probes passed, 1 failed')
  })
})

describe('a run that is cut short', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'by %s says how far it came',
    async (signal) => {
      const to = await apps.sound()
      // So many that they cannot stand in memory at once.
      const args = ['send', 'client.created', '--to', to, '--times', '1000000000']
      const { child, until, ended } = start(args, { env })
      await until(/200/)
      child.kill(signal)
      const ran = await ended
      expect(ran.code).toBe(130)
      expect(ran.stderr).toMatch(
        /\d+ deliver(y|ies): \d+ accepted, 0 refused, 0 failed, \d+ not sent/,
      )
    },
  )
})

describe('capture', () => {
  async function recording(...args: readonly string[]) {
    const dir = join(folder(), 'captures')
    const begun = start(['capture', '--port', '0', '--dir', dir, '--json', ...args], { env })
    const [, url = ''] = await begun.until(/"url":"([^"]+)"/)
    const records = async () => {
      const { stdout, code } = await begun.ended
      return {
        code,
        records: stdout
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as object),
      }
    }
    return { url, child: begun.child, records }
  }
  const body = JSON.stringify(fixture('client.created'))

  test('says and counts a body that is too large', async () => {
    const { url, child, records } = await recording('--max-bytes', '100')
    expect((await fetch(url, { method: 'POST', body })).status).toBe(413)
    child.kill('SIGINT')
    expect((await records()).records.slice(1)).toMatchObject([
      { type: 'error', code: 'CAPTURE_NOT_KEPT', message: expect.stringContaining('--max-bytes') },
      { type: 'summary', captures: 0, lost: 1 },
    ])
  })

  test('keeps a delivery with an invalid host or protocol', async () => {
    const { url, records } = await recording('--count', '1')
    const headers = { ...(await sign(body, { secret })), 'x-forwarded-proto': 'ht tp' }
    expect((await fetch(`${url}/hooks?a=1`, { method: 'POST', body, headers })).status).toBe(200)
    expect(await records()).toMatchObject({
      code: 0,
      records: [{ type: 'ready' }, { type: 'capture', verified: true }, { captures: 1, lost: 0 }],
    })
  })
})
