// Installs what the benchmarks compare with, and puts the built package where they import it from.
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
const modules = join(here, 'node_modules')

export function install(): void {
  if (!existsSync(join(here, '../dist/index.js'))) {
    throw new Error('dist/ is missing: run npm run build first, or npm run bench at the root')
  }
  if (isOutdated()) {
    console.error('bench: installing what is compared with')
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
    const flags = ['ci', '--no-audit', '--no-fund']
    const { status } = spawnSync(npm, flags, { cwd: here, stdio: ['ignore', 2, 2] })
    if (status !== 0) throw new Error(`npm ci in bench/ exited with ${status}`)
  }
  const link = join(modules, 'idv-webhooks')
  rmSync(link, { recursive: true, force: true })
  // The file is a link to the repository: its dist/ is measured, as users import it.
  symlinkSync(join(here, '..'), link, 'junction')
}

function isOutdated(): boolean {
  const installed = join(modules, '.package-lock.json')
  if (!existsSync(installed)) return true
  return statSync(installed).mtimeMs < statSync(join(here, 'package-lock.json')).mtimeMs
}
