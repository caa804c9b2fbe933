import { execFileSync, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, inject, test } from 'vitest'

const { app, bare } = inject('installed')
const installed = join(bare, 'node_modules/idv-webhooks')

test("every door's exports are those of the snapshot", async () => {
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>
  }
  const doors = Object.keys(exports).filter((door) => door !== './package.json')
  const names = doors.map((door) => door.replace(/^\./, 'idv-webhooks'))
  const script = `Promise.all(${JSON.stringify(names)}.map(async (door) => [door, Object.keys(await import(door)).sort()]))
    .then((all) => console.log(JSON.stringify(Object.fromEntries(all))))`
  const printed = execFileSync(process.execPath, ['-e', script], { cwd: app, encoding: 'utf8' })
  await expect(`${JSON.stringify(JSON.parse(printed), null, 2)}\n`).toMatchFileSnapshot(
    'doors.snapshot',
  )
})

test.each([
  ['createInbox', 'inbox', '{}'],
  ['fixture', 'testing', "'verification.aproved'"],
  ['postgresStore', 'inbox/postgres', '{}'],
  ['sqliteStore', 'inbox/sqlite', "''"],
  ['toExpress', 'express', 'undefined'],
  ['toFetch', 'fetch', '{}'],
])('Node shows a mistake in a call of %s with no line of ours above it', (name, path, given) => {
  const [loaded, call] = [`'idv-webhooks/${path}'`, `${name}(${given})`]
  const printed = (type: string, load: string) => {
    const args = [`--input-type=${type}`, '-e', `${load}\n${call}`]
    return spawnSync(process.execPath, args, { cwd: app, encoding: 'utf8' }).stderr
  }
  const excerpt = printed('module', `import { ${name} } from ${loaded}`).split('\n')
  expect(excerpt.slice(0, 2)).toEqual([expect.stringMatching(/eval1\]?:2$/), call])
  expect(printed('commonjs', `const { ${name} } = require(${loaded})`)).toMatch(/^WebhookError: /)
})

test('no built file reaches for a package that a user has not', () => {
  const allowed =
    /^(node:|\.|#hmac$|#diagnosis$|zod(\/|$)|jose(\/|$)|raw-body$|fastify-plugin$|fastify$|@opentelemetry\/api$|@nestjs\/(common|core)$)/
  const files = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
  const built = files.filter((file) => /\.(js|d\.ts)$/.test(file))
  expect(built.length).toBeGreaterThan(20)
  for (const file of built) {
    const text = readFileSync(join(installed, 'dist', file), 'utf8')
    const imported = ts.preProcessFile(text, true, true).importedFiles.map((one) => one.fileName)
    const required = [...text.matchAll(/\b__require\(['"]([^'"\n]+)['"]\)/g)].map(
      ([, to = '']) => to,
    )
    const wanted = [...imported, ...required.filter((to) => !isBuiltin(to))]
    expect(
      wanted.filter((to) => !allowed.test(to)),
      file,
    ).toEqual([])
  }
})

test('the unpacked package has at most 5 MB', () => {
  const files = readdirSync(installed, { recursive: true, encoding: 'utf8' })
  const sizes = files.map((file) => statSync(join(installed, file)))
  const bytes = sizes.reduce((sum, one) => sum + (one.isFile() ? one.size : 0), 0)
  expect(bytes).toBeLessThan(5e6)
})

test('every built file knows no await at its top, so that require() works', () => {
  const files = doorFiles()
  expect(files.length).toBeGreaterThan(15)
  for (const door of files) {
    const script = `require('${join(installed, door)}')`
    expect(() =>
      execFileSync(process.execPath, ['-e', script], { cwd: bare, stdio: 'pipe' }),
    ).not.toThrow()
  }
})

test('every package whose code is bundled is named with its licence', () => {
  const root = join(import.meta.dirname, '../..')
  const sources = readdirSync(join(root, 'tools'), { recursive: true, encoding: 'utf8' })
  const packages = sources
    .filter((file) => /^(cli|sandbox)\/.*\.ts$/.test(file))
    .flatMap((file) => {
      const text = readFileSync(join(root, 'tools', file), 'utf8')
      return ts.preProcessFile(text, true, true).importedFiles.map((one) => one.fileName)
    })
    .filter((to) => !isBuiltin(to) && !/^[.#]/.test(to) && !/^(zod|fastify|express|next)$/.test(to))
    .map((to) => /^(@[^/]+\/)?[^/]+/.exec(to)?.[0])
  const notices = readFileSync(join(installed, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  const named = [...notices.matchAll(/^-{80}\n\n(\S+) \S+ \(.+\)\n\n(?=\S)/gm)].map(
    ([, name]) => name,
  )
  expect(packages.length).toBeGreaterThan(5)
  expect(named).toEqual(expect.arrayContaining([...new Set(packages)]))
})

test('the bill of materials has what npm installs, and what is bundled, and nothing else', () => {
  const root = join(import.meta.dirname, '../..')
  const script = join(root, 'scripts/sbom.ts')
  const bom = JSON.parse(execFileSync(process.execPath, [script], { cwd: root, encoding: 'utf8' }))
  interface Component {
    readonly name: string
    readonly properties?: readonly { readonly name: string }[]
  }
  const components: readonly Component[] = bom.components
  const isBundled = ({ properties = [] }: Component) =>
    properties.some(({ name }) => name === 'cdx:npm:package:bundled')
  const namesOf = (some: readonly Component[]) => some.map(({ name }) => name).sort()
  const tree = JSON.parse(readFileSync(join(bare, 'node_modules/.package-lock.json'), 'utf8'))
  const packages = Object.keys(tree.packages).map((path) => path.replace(/^.*node_modules\//, ''))
  expect(namesOf(components.filter((one) => !isBundled(one)))).toEqual(
    packages.filter((name) => name !== 'idv-webhooks').sort(),
  )
  const notices = readFileSync(join(installed, 'dist/THIRD-PARTY-NOTICES.txt'), 'utf8')
  const noticed = [...notices.matchAll(/^-{80}\n\n(\S+) /gm)].map(([, name]) => name)
  // The CommonJS build bundles a package that the other build imports.
  const bundled = noticed.filter((name) => !packages.includes(name ?? ''))
  expect(namesOf(components.filter(isBundled))).toEqual(bundled.sort())
  expect(bom).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { component: { name: 'idv-webhooks' } },
  })
})

function doorFiles(): string[] {
  const { exports } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    exports: Record<string, { readonly import?: { readonly default: string } }>
  }
  // Two need a package that is not installed here.
  const needy = ['./nest', './opentelemetry']
  return Object.entries(exports).flatMap(([name, door]) =>
    needy.includes(name) ? [] : (door.import?.default ?? []),
  )
}
