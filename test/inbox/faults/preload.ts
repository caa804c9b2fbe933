// Builds what is preloaded into a process, once, with the machine's C compiler.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

let built: string | undefined

/** The path of the disk that obeys; throws with the way out when it cannot be built. */
export function obedientDisk(): string {
  if (built) return built
  const to = join(mkdtempSync(join(tmpdir(), 'idv-disk-')), 'disk.so')
  const from = join(import.meta.dirname, 'disk.c')
  execFileSync(compiler(), ['-shared', '-fPIC', '-O2', '-o', to, from, '-ldl'], {
    stdio: 'inherit',
  })
  built = to
  return to
}

function compiler(): string {
  const found = () => ['cc', 'gcc', 'clang'].find((name) => isThere(name))
  const name = found()
  if (name) return name
  if (process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'gcc', 'libc6-dev'], {
      stdio: 'inherit',
    })
  }
  const installed = found()
  if (installed) return installed
  throw new Error('the disk tests need a C compiler: install gcc (Debian: apt-get install gcc)')
}

function isThere(name: string): boolean {
  try {
    execFileSync(name, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
