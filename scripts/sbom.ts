// Prints the bill of materials of the package (CycloneDX): what it installs, as npm knows it, and what
// is bundled into dist, as the build has listed it.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

interface Component {
  readonly 'bom-ref': string
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
}

const args = ['sbom', '--sbom-format', 'cyclonedx', '--omit', 'dev']
const bom = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' })) as {
  components: Component[]
}
const notices = readFileSync('dist/THIRD-PARTY-NOTICES.txt', 'utf8')
const known = new Set(bom.components.map((one) => one['bom-ref']))
for (const [, name = '', version = '', license = ''] of notices.matchAll(
  /^-{80}\n\n(\S+) (\S+) \((.+)\)$/gm,
)) {
  const ref = `${name}@${version}`
  if (known.has(ref)) continue
  const bundled = {
    'bom-ref': ref,
    type: 'library',
    name,
    version,
    scope: 'required',
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ license: { id: license } }],
    properties: [{ name: 'cdx:npm:package:bundled', value: 'true' }],
  }
  bom.components.push(bundled)
}
console.log(JSON.stringify(bom, null, 2))
