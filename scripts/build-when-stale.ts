// The build of `npm test`: skipped while nothing that goes into it is newer than the last one.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
/** Written after a build that succeeded: a build that failed leaves a dist too. */
const stamp = join(root, 'node_modules/.cache/idv-webhooks/built')

const timeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0

function newest(folder: string): number {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return Math.max(...files.map((file) => timeOf(join(root, folder, file))))
}

const sources = Math.max(
  ...['src', 'adapters', 'tools', 'scripts', 'docs'].map(newest),
  ...['package.json', 'package-lock.json', 'tsup.config.ts', 'README.md'].map((file) =>
    timeOf(join(root, file)),
  ),
)
if (timeOf(stamp) <= sources || timeOf(join(root, 'dist/index.js')) === 0) {
  execFileSync('npm', ['run', 'build', '--silent'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  })
  mkdirSync(dirname(stamp), { recursive: true })
  writeFileSync(stamp, '')
}
