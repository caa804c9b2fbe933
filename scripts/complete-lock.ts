// Completes package-lock.json with the binaries of other platforms that a registry mirror does not
// offer: npm leaves out what it cannot look up, and `npm ci` then refuses the whole lock file.
// Versions are exact in the parents' own manifests; what a platform is, the names say.
import { readFileSync, writeFileSync } from 'node:fs'

interface Locked {
  version?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
  packages: Record<string, Locked>
}
const systems = [
  'android',
  'darwin',
  'freebsd',
  'linux',
  'netbsd',
  'openbsd',
  'openharmony',
  'sunos',
  'aix',
  'win32',
]
const processors = [
  'arm64',
  'x64',
  'ia32',
  'arm',
  'loong64',
  'mips64el',
  'ppc64',
  'riscv64',
  's390x',
]

for (const parent of Object.values(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`
    if (Object.keys(lock.packages).some((key) => key.endsWith(path))) continue
    if (!/^\d+\.\d+\.\d+\S*$/.test(version)) throw new Error(`${name}@${version} is not exact`)
    const words = name.split(/[/-]/)
    const os = systems.filter((system) => words.includes(system))
    const cpu = processors.filter((processor) => words.includes(processor))
    lock.packages[path] = {
      version,
      ...(cpu.length > 0 && { cpu }),
      ...(/musl/.test(name) && { libc: ['musl'] }),
      ...(parent.dev && { dev: true }),
      optional: true,
      ...(os.length > 0 && { os }),
    }
    console.log(`${name}@${version}`)
  }
}

const [root, ...others] = Object.entries(lock.packages)
const sorted = others.sort(([a], [b]) => a.localeCompare(b, 'en'))
lock.packages = Object.fromEntries(root ? [root, ...sorted] : sorted)
writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`)
