// Where figures come from: machine, versions, date and load.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'

const here = import.meta.dirname

export function machine(node = process.execPath): string {
  const [cpu] = cpus()
  const memory = Math.round(totalmem() / 2 ** 30)
  const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()
  const load = loadavg()[0]?.toFixed(1)
  const date = new Date().toISOString().slice(0, 10)
  return `Node ${version.slice(1)}, ${cpus().length} × ${cpu?.model.trim()}, ${memory} GB, load ${load}, ${date}`
}

/** The versions of what is compared, as they are installed here. */
export function versions(): string {
  const { dependencies } = manifest(join(here, 'package.json'))
  const peers = Object.keys(dependencies).map((name) => [name, join(here, 'node_modules', name)])
  const own = ['express', 'fastify', 'next', 'hono', 'zod'].map((name) => [
    name,
    join(here, '../node_modules', name),
  ])
  const ours = `idv-webhooks ${ownVersion()}`
  const others = [...own, ...peers].map(
    ([name = '', folder = '']) => `${name} ${manifest(join(folder, 'package.json')).version}`,
  )
  return [ours, ...others].join(', ')
}

export const ownVersion = () => manifest(join(here, '../package.json')).version

interface Manifest {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

function manifest(file: string): Manifest {
  return JSON.parse(readFileSync(file, 'utf8'))
}
