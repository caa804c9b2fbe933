// Where the module of a driver is looked for.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const store = resolve(import.meta.dirname, '../../src/inbox/stores/sqlite/sqlite.ts')
const program = `import { sqliteStore } from ${JSON.stringify(store)}
const store = sqliteStore(import.meta.dirname + '/inbox.db', { driver: process.argv[2] })
await store.open(() => {}).then(() => store.close())
  .then(() => console.log('opened'), (error) => console.log(error.code, error.message))
`

/** An application with a driver among its modules, and beside it a folder without. */
function application() {
  const root = mkdtempSync(join(tmpdir(), 'idv-driver-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  const [module, elsewhere] = [join(root, 'app/node_modules/own-driver'), join(root, 'elsewhere')]
  for (const one of [module, elsewhere]) mkdirSync(one, { recursive: true })
  const driver = "module.exports = require('node:sqlite').DatabaseSync"
  writeFileSync(join(module, 'index.js'), driver)
  for (const folder of ['app', 'elsewhere']) {
    writeFileSync(join(root, folder, 'server.mjs'), program)
    writeFileSync(join(root, folder, 'near.cjs'), driver)
  }
  symlinkSync('../app/server.mjs', join(elsewhere, 'linked.mjs'))
  return (cwd: string, file: string, name = 'own-driver', flags: readonly string[] = []) =>
    spawnSync(process.execPath, [...flags, join(root, file), name], {
      cwd: join(root, cwd),
      encoding: 'utf8',
    }).stdout.trim()
}

test('a driver is found from the program, however that was started, or from the working directory', () => {
  const start = application()
  expect(start('app', 'app/server.mjs')).toBe('opened')
  expect(start('elsewhere', 'app/server.mjs')).toBe('opened')
  expect(start('elsewhere', 'elsewhere/linked.mjs')).toBe('opened')
  expect(start('app', 'elsewhere/server.mjs')).toBe('opened')
  expect(start('elsewhere', 'app/server.mjs', './near.cjs')).toBe('opened')
})

test('a driver that neither of them knows is refused with the places that were asked', () => {
  expect(application()('elsewhere', 'elsewhere/server.mjs')).toMatch(
    /^OPTION_INVALID the SQLite driver 'own-driver' was not found from the program .*elsewhere\/server\.mjs or the working directory .*elsewhere: install/,
  )
})

test('a Node without node:sqlite is named, with the flag that takes it away', () => {
  const start = application()
  const flags = ['--no-experimental-sqlite']
  expect(start('app', 'app/server.mjs', 'node:sqlite', flags)).toMatch(
    /^RUNTIME_UNSUPPORTED Node \d+\.\d+\.\d+ has no node:sqlite: remove --no-experimental-sqlite/,
  )
})
