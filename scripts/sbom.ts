// Prints the bill of materials of the package (CycloneDX): what it installs, as npm knows it, and what
// is bundled into dist, as the build has listed it.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Component {
  readonly 'bom-ref': string
  readonly type: string
  readonly name: string
  readonly version: string
  readonly purl: string
}

interface Bom {
  readonly metadata: { readonly component: { name: string } }
  readonly components: Component[]
}

interface LockedPackage {
  readonly dev?: boolean
  readonly devOptional?: boolean
  readonly peer?: boolean
}

/**
 * The bill of materials of what users install. npm makes it of a lock file without development
 * dependencies: `--omit dev` also omits what those use too (npm/cli#7909), here every dependency.
 */
function installedBom(): Bom {
  const { devDependencies: _, peerDependencies: __, ...manifest } = readJson('package.json')
  const lock = readJson('package-lock.json')
  const packages = Object.entries(lock.packages as Record<string, LockedPackage>).filter(
    ([path, { dev, devOptional, peer }]) => path !== '' && !dev && !devOptional && !peer,
  )
  const folder = mkdtempSync(join(tmpdir(), 'idv-sbom-'))
  try {
    const all = { ...lock, packages: { '': manifest, ...Object.fromEntries(packages) } }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(all))
    const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
    return JSON.parse(execFileSync('npm', args, { cwd: folder, encoding: 'utf8' })) as Bom
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function readJson(name: string): Record<string, unknown> {
  return JSON.parse(readFileSync(name, 'utf8')) as Record<string, unknown>
}

const bom = installedBom()
// npm takes the name of the folder.
bom.metadata.component.name = String(readJson('package.json').name)
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
