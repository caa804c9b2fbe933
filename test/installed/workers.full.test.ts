import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { expect, inject, test } from 'vitest'
import { deliver } from './program.ts'
import { servingWorker } from './workerd.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const { bare, workerds } = inject('installed')
const folder = join(bare, 'workers')
const event = { event: 'verification.approved', data: { id: 'ver_42' } }
const shown = readFileSync(join(root, 'examples/fetch.ts'), 'utf8')
const guide = readFileSync(join(root, 'docs/quick-start.md'), 'utf8')
const read = 'process.env.WEBHOOK_SECRET'

/** Bundles a program as `wrangler dev` does, into a folder of its own. */
async function bundled(name: string, program: string): Promise<string> {
  const cwd = join(folder, name)
  mkdirSync(cwd, { recursive: true })
  writeFileSync(join(cwd, 'app.ts'), program)
  await build({
    entryPoints: [join(cwd, 'app.ts')],
    outfile: join(cwd, 'worker.js'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:workers'],
    define: { 'process.env.NODE_ENV': '"development"' },
  })
  return cwd
}

const compat = '"nodejs_compat"'
const [workerd = ''] = workerds
const undefinedProcess = 'process is not defined'
const where =
  'on Workers in .dev.vars or by wrangler secret put; process.env needs nodejs_compat and a compatibility date from 2025-04-01'
const noSecret = `no secret: .*${where}`

test.each([
  ['2024-01-01', compat, undefinedProcess],
  ['2024-09-22', compat, undefinedProcess],
  ['2024-09-23', compat, noSecret],
  ['2025-03-31', compat, noSecret],
  ['2025-04-01', compat, undefined],
  ['2025-04-01', '', undefinedProcess],
  ['2026-08-03', '', undefinedProcess],
  ['2026-08-04', '', undefined],
])('the program for Workers of %s with [%s] starts, or says why not', async (date, flags, said) => {
  const cwd = await bundled('shown', shown)
  const served = servingWorker({ workerd, cwd, flags, date })
  if (said === undefined) expect(await deliver((await served).url, event)).toBe('200 handled')
  else await expect(served).rejects.toThrow(new RegExp(said))
})

test('a function that finds no secret names the date in its warning', async () => {
  const cwd = await bundled('function', shown.replace(read, `() => ${read}`))
  const served = { workerd, cwd, flags: compat, date: '2025-03-31' }
  const { url, printed } = await servingWorker(served)
  expect(await deliver(url, event)).toBe('503 SECRET_UNAVAILABLE')
  await expect.poll(printed).toContain(`set the environment variable that it reads (${where})`)
})

test('the quick start names the dates from which on it is otherwise', () => {
  const [, shown = ''] = /^(On Cloudflare Workers `process.env` .*)$/m.exec(guide) ?? []
  const dates = new Set(shown.match(/\d{4}-\d\d-\d\d/g))
  expect(dates).toEqual(new Set(['2024-09-23', '2025-04-01', '2026-08-04']))
})

test('the test of the guide passes, with the line for env of cloudflare:workers too', async () => {
  const testing = readFileSync(join(root, 'docs/testing.md'), 'utf8')
  const example = readFileSync(join(root, 'examples/tests/fetch.test.ts'), 'utf8')
  const code = example.replace('../fetch.js', '../app.js')
  const [, mock = ''] = /`(vi\.mock\('cloudflare:workers'.*?)`/.exec(testing) ?? []
  const mocked = `${code.replace('{ expect, test }', '{ expect, test, vi }')}${mock}\n`
  const env = shown.replace(read, 'env.WEBHOOK_SECRET')
  const imported = `import { env } from 'cloudflare:workers'\n${env}`
  for (const [name, program, its] of [
    ['plain', shown, code],
    ['imported', imported, mocked],
  ] as const) {
    const cwd = await bundled(name, program)
    mkdirSync(join(cwd, 'test'))
    writeFileSync(join(cwd, 'test/app.test.ts'), its)
    mkdirSync(join(cwd, 'node_modules'))
    symlinkSync(join(root, 'node_modules/vitest'), join(cwd, 'node_modules/vitest'))
    const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', cwd]
    const { stdout } = await run(process.execPath, args, { cwd })
    expect(stdout, name).toMatch(/Tests .*1 passed/)
  }
})
