import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { deliver, start } from './program.ts'

const run = promisify(execFile)
const { app } = inject('installed')
// Away from every node_modules: a file that was not bundled would not be found.
const out = mkdtempSync(join(tmpdir(), 'idv-bundled-'))
afterAll(() => rmSync(out, { recursive: true, force: true }))

let built: { readonly files: readonly string[]; readonly warned: readonly unknown[] }

beforeAll(async () => {
  const folder = join(app, 'bundled')
  cpSync(join(import.meta.dirname, 'bundled'), folder, { recursive: true })
  const { stdout } = await run(process.execPath, ['build.mjs', out], { cwd: folder })
  built = JSON.parse(stdout)
}, 180_000)

test('no bundler warns of anything in the package', () => {
  expect(built.warned).toEqual([])
})

test.each([
  'esbuild-esm/server.mjs',
  'esbuild-cjs/server.cjs',
  'rollup/server.mjs',
  'vite/server.mjs',
  'webpack/server.cjs',
])('%s takes a delivery into its SQLite inbox and handles it', async (file) => {
  expect(built.files).toContain(file)
  const ready = /port: (\d+)/
  const env = { INBOX: join(out, `${file.replaceAll(/\W/g, '-')}.db`) }
  const { child, until, started } = start([file], { cwd: out, env, ready })
  const url = `http://127.0.0.1:${ready.exec(await started)?.[1]}/`
  const event = { id: 'evt_1', event: 'verification.approved', data: { id: 'ver_42' } }
  expect(await deliver(url, event)).toBe('202 accepted')
  expect(await deliver(url, event)).toBe('200 duplicate')
  expect(await deliver(url, event, { forged: true })).toBe('401 SIGNATURE_MISMATCH')
  await until(/approved: ver_42/)
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
})
