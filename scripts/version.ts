// Makes the next version: lets changesets bump it, and puts what they say and what stands under
// "(unreleased)" in CHANGELOG.md under one heading. Run in the folder of the package.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

interface Manifest {
  version: string
  readonly packages?: { readonly '': { version: string } }
}

const readJson = (file: string) => JSON.parse(readFileSync(file, 'utf8')) as Manifest

function writeVersion(file: string, version: string): void {
  const manifest = readJson(file)
  manifest.version = version
  if (manifest.packages) manifest.packages[''].version = version
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`)
}

/** The version that the changesets make, and their lines; undefined where there are none. */
function fromChangesets(): { readonly version: string; readonly lines: string } | undefined {
  const waiting = readdirSync('.changeset').filter((name) => /^(?!README).*\.md$/.test(name))
  if (waiting.length === 0) return undefined
  const before = readFileSync('CHANGELOG.md', 'utf8')
  const tool = createRequire(import.meta.url).resolve('@changesets/cli/bin.js')
  execFileSync(process.execPath, [tool, 'version'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const { version } = readJson('package.json')
  const section = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version)
  writeFileSync('CHANGELOG.md', before)
  const lines = section?.lines.replaceAll(/^### (Major|Minor|Patch) Changes\n+/gm, '') ?? ''
  return { version, lines: lines.replaceAll(/\n{2,}(?=- )/g, '\n') }
}

/** The section of a changelog whose heading is `title`, a regular expression. */
function sectionOf(changelog: string, title: string) {
  const found = new RegExp(`^## (${title})\\n+([^]*?)(?=\\n+## |\\n*$(?![^]))`, 'm').exec(changelog)
  return found && { whole: found[0], title: found[1] ?? '', lines: found[2] ?? '' }
}

const bumped = fromChangesets()
const changelog = readFileSync('CHANGELOG.md', 'utf8')
const unreleased = sectionOf(changelog, String.raw`[\d.]+ \(unreleased\)`)
const planned = unreleased?.title.replace(' (unreleased)', '')
const version = bumped?.version ?? planned
if (version === undefined) throw new Error('nothing to release: no changeset, nothing unreleased')
if (planned !== undefined && planned !== version) {
  throw new Error(`CHANGELOG.md plans ${planned}, but the changesets make ${version}: change one`)
}
// New entries come before the grouped ones: the maintainer moves each into its group.
const lines = [bumped?.lines, unreleased?.lines].filter(Boolean).join('\n\n')
const section = `## ${version}\n\n${lines}`
writeFileSync(
  'CHANGELOG.md',
  unreleased
    ? changelog.replace(unreleased.whole, () => section)
    : changelog.replace(/^## /m, () => `${section}\n\n## `),
)
for (const file of ['package.json', 'package-lock.json']) writeVersion(file, version)
console.log(`${version}: look over CHANGELOG.md, commit, and push the tag v${version}`)
