import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, inject, test } from 'vitest'

const { bare } = inject('installed')
const installed = join(bare, 'node_modules/idv-webhooks')

test("every door's exports are those of the snapshot", async () => {
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>
  }
  const doors = Object.keys(exports).filter((door) => door !== './package.json')
  const names = doors.map((door) => door.replace(/^\./, 'idv-webhooks'))
  const script = `Promise.all(${JSON.stringify(names)}.map(async (door) => [door, Object.keys(await import(door)).sort()]))
    .then((all) => console.log(JSON.stringify(Object.fromEntries(all))))`
  const printed = execFileSync(process.execPath, ['-e', script], { cwd: bare, encoding: 'utf8' })
  await expect(`${JSON.stringify(JSON.parse(printed), null, 2)}\n`).toMatchFileSnapshot(
    'doors.snapshot',
  )
})

test('no built file reaches for a package that a user has not', () => {
  const allowed = /^(node:|\.|#hmac$|zod(\/|$)|raw-body$|fastify-plugin$|fastify$)/
  const files = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
  const built = files.filter((file) => /\.(js|d\.ts)$/.test(file))
  expect(built.length).toBeGreaterThan(20)
  for (const file of built) {
    const text = readFileSync(join(installed, 'dist', file), 'utf8')
    const imported = ts.preProcessFile(text, true, true).importedFiles.map((one) => one.fileName)
    expect(
      imported.filter((to) => !allowed.test(to)),
      file,
    ).toEqual([])
  }
})

test('every built file knows no await at its top, so that require() works', () => {
  for (const door of [
    'index',
    'express',
    'fastify',
    'next',
    'fetch',
    'node',
    'protocol',
    'testing',
  ]) {
    const script = `require('${join(installed, 'dist', `${door}.js`)}')`
    expect(() =>
      execFileSync(process.execPath, ['-e', script], { cwd: bare, stdio: 'pipe' }),
    ).not.toThrow()
  }
})
