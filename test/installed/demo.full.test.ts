import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

test('the demo shows every outcome, ends by itself and leaves nothing to be done', async () => {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [join(root, 'scripts/demo.ts')],
    { cwd: root, env: { ...process.env, NO_COLOR: '1' } },
  )
  const seen = stdout.replaceAll(/ {2,}/g, '  ')
  for (const line of [
    'verification.approved  202 accepted',
    'handler: Ada Lovelace is approved',
    'request.rejected = verification.rejected  200 duplicate',
    'verification.expired  202 accepted',
    'wrong-secret  401 SIGNATURE_MISMATCH',
    'unsigned  401 SIGNATURE_MISSING',
    'proved: the body verifies after it is serialised differently',
    'oversized  413 BODY_TOO_LARGE',
    'an attempt failed and will be made again  retry',
    'a dead letter  dead',
    '4 done, 9 skipped because no handler asked for them, 0 to be tried again, 0 dead',
  ]) {
    expect(seen).toContain(line)
  }
  expect(
    stderr.replaceAll(/^.*(ExperimentalWarning|trace-warnings|IDV_|\/errors\/).*\n/gm, ''),
  ).toBe('')
})

test('at a terminal the consoles stay up to be looked at, until a key is pressed', async () => {
  const command = `'${process.execPath}' '${join(root, 'scripts/demo.ts')}'`
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let screen = ''
  const ended = once(child, 'close')
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (part) => {
      screen += part
      if (screen.includes('any key ends it')) resolve()
    })
    ended.then(() => reject(new Error(`it ended by itself: ${screen}`)))
  })
  const addresses = [...screen.matchAll(/The console of the \w+: +(\S+)/g)].map(([, url]) => url)
  expect(addresses).toHaveLength(2)
  for (const url of addresses) {
    const page = await fetch(url ?? '', { headers: { accept: 'text/html' } })
    expect(await page.text(), url).toContain('name="idv-console"')
  }
  child.stdin.write(' ')
  expect((await ended)[0]).toBe(0)
})
