import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { describe, expect, inject, test } from 'vitest'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const { app, bare, tarball, nodes } = inject('installed')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>
  version: string
}
/** Doors that do not open without their optional peer. */
const needPeer = ['idv-webhooks/nest', 'idv-webhooks/opentelemetry']
const doors = Object.keys(manifest.exports)
  .filter((door) => door !== './package.json')
  .map((door) => door.replace(/^\./, 'idv-webhooks'))

/** The import paths that every runtime needs; runtimes.test.ts tests each of them. */
const program = `export * from 'idv-webhooks'
export * from 'idv-webhooks/fetch'
`

describe('in an empty project', () => {
  test('the package brings only its listed dependencies, and no install script', async () => {
    const { packages } = JSON.parse(readFileSync(join(bare, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>
    }
    const names = Object.keys(packages).map((path) => path.replace(/^node_modules\//, ''))
    expect(names).toEqual(expect.arrayContaining(['idv-webhooks', 'fastify-plugin', 'zod']))
    expect(names.filter((name) => /express|^fastify$|next|hono/.test(name))).toEqual([])
    expect(Object.values(packages).filter((one) => one.hasInstallScript)).toEqual([])
  })

  test('the packed files are the built ones, the documents and the examples', async () => {
    const files = readdirSync(join(bare, 'node_modules/idv-webhooks'))
    const guides = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md']
    expect(files.sort()).toEqual([
      ...guides,
      'SECURITY.md',
      'dist',
      'docs',
      'examples',
      'llms.txt',
      'package.json',
    ])
  })

  test.each([
    ['this Node', () => process.execPath],
    ['Node 22.18', () => nodes['22.18.0'] as string],
    ['Node 24', () => nodes['24.21.0'] as string],
  ])('every door opens by import and by require on %s', async (_, executable) => {
    const script = `
      const doors = process.argv.slice(2)
      const { createRequire } = await import('node:module')
      const require = createRequire(import.meta.url)
      const found = {}
      for (const door of doors) {
        const [imported, required] = [await import(door), require(door)]
        if (imported !== required && Object.keys(imported).sort().join() !== Object.keys(required).sort().join()) {
          throw new Error(door + ' differs')
        }
        found[door] = Object.keys(imported).length
      }
      console.log(JSON.stringify(found))`
    const free = doors.filter((door) => !needPeer.includes(door))
    for (const [cwd, wanted] of [[bare, free] as const, [app, needPeer] as const]) {
      writeFileSync(join(cwd, 'doors.mjs'), script)
      const { stdout } = await run(executable(), ['doors.mjs', ...wanted], { cwd })
      const found = JSON.parse(stdout) as Record<string, number>
      expect(Object.keys(found)).toEqual(wanted)
      expect(Object.values(found).every((count) => count > 0)).toBe(true)
    }
  })
})

test.each([
  ['workerd', ['workerd', 'worker', 'browser']],
  ['an edge runtime', ['edge-light']],
  ['a browser', ['browser']],
])('bundled for %s no node: import is left', async (_, conditions) => {
  writeFileSync(join(bare, 'program.mjs'), program)
  const { outputFiles } = await build({
    entryPoints: [join(bare, 'program.mjs')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions,
  })
  expect(outputFiles[0]?.text).toContain('crypto.subtle')
  expect(outputFiles[0]?.text).not.toMatch(/["']node:|(?<!_)require\(|createHmac/)
})

test('the client needs no node: module either', async () => {
  writeFileSync(join(bare, 'client.mjs'), "export * from 'idv-webhooks/client'\n")
  const { outputFiles } = await build({
    entryPoints: [join(bare, 'client.mjs')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
  })
  expect(outputFiles[0]?.text).not.toMatch(/["']node:|require\(/)
})

describe('the tarball', () => {
  test('passes publint in strict mode', async () => {
    const { publint } = await import('publint')
    const { messages } = await publint({
      pkgDir: join(bare, 'node_modules/idv-webhooks'),
      strict: true,
    })
    expect(messages).toEqual([])
  })

  test('resolves with its types everywhere (arethetypeswrong, ESM only)', async () => {
    const attw = join(root, 'node_modules/.bin/attw')
    // It exits with 1 when a door does not resolve; the JSON format knows no profile.
    const args = [attw, tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']
    const { stdout } = await run(process.execPath, args)
    expect(stdout).toContain('idv-webhooks/express')
  })
})
