import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
  readonly name: string
  readonly scripts: Readonly<Record<string, string>>
}

test('npmjs.com finds the repository, the homepage and where to report a bug', () => {
  const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '')
  expect(repository).toMatch(/^https:\/\/github\.com\/[\w-]+\/idv-webhooks$/)
  expect(manifest.bugs).toBe(`${repository}/issues`)
  expect(URL.canParse(manifest.homepage)).toBe(true)
  expect(textOf('SECURITY.md')).toContain(`${repository}/security/advisories/new`)
})

test('every action of a workflow has an exact version', () => {
  const used = workflows.flatMap(({ text }) =>
    [...text.matchAll(/uses: (\S+)/g)].map(([, one]) => one),
  )
  expect(used.length).toBeGreaterThan(4)
  expect(used.filter((one) => !/^[\w-]+\/[\w-]+@v\d+\.\d+\.\d+$/.test(one ?? ''))).toEqual([])
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
    /^npm test takes about \d+ minutes on 2 cores \(this machine has \d+\).*\n$/,
  )
})

test('changesets know the package', () => {
  const config = JSON.parse(textOf('.changeset/config.json')) as Record<string, unknown>
  expect(config).toMatchObject({ access: 'public', baseBranch: 'main', commit: false })
})
