// The files to migrate: the named ones, and those of folders that git does not ignore.
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { CliError } from '../exit-code.ts'
import { statOf } from '../files.ts'

/** Generated, large, and without event names. */
const lockFile = /^(package-lock|npm-shrinkwrap)\.json$|^pnpm-lock\.yaml$|\.lockb?$/

export function sourceFiles(cwd: string, paths: readonly string[]): readonly string[] {
  const files = paths.flatMap((path) => {
    const full = resolve(cwd, path)
    const found = statOf(full)
    if (!found) throw new CliError('FILE_MISSING', `${path} does not exist: check the path`)
    if (found.isDirectory()) return inFolder(realpathSync(full))
    // Reading a pipe could last for ever.
    if (!found.isFile()) throw new CliError('USAGE', `${path} is a pipe or a device, not a file`)
    return [realpathSync(full)]
  })
  return [...new Set(files)]
}

/** All files of a folder that git ignores or does not know. */
function inFolder(folder: string): readonly string[] {
  const listed = git(folder, 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
  const names = listed ? listed.split('\0').filter(Boolean) : readdirSync(folder)
  return names.sort().flatMap((name) => {
    const path = join(folder, name)
    const isSkipped = name.split('/').includes('node_modules') || name === '.git'
    if (isSkipped || lockFile.test(basename(name))) return []
    // Links are not followed: their targets are found at their own place.
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) return inFolder(path)
    return found?.isFile() ? [path] : []
  })
}

/** True if git could not show or undo a change of the file. */
export function hasUncommittedChanges(path: string): boolean {
  const status = git(dirname(path), 'status', '--porcelain', '--ignored', '--', basename(path))
  return Boolean(status)
}

/** The answer of git in a folder; undefined if it fails. */
function git(folder: string, ...args: readonly string[]): string | undefined {
  // A git hook's environment names the hook's own repository.
  const foreign = Object.keys(process.env).filter((name) => name.startsWith('GIT_'))
  const unset = Object.fromEntries(foreign.map((name) => [name, undefined]))
  try {
    // A repository can name a program that watches its files.
    return execFileSync('git', ['-c', 'core.fsmonitor=false', ...args], {
      cwd: folder,
      env: { ...process.env, ...unset },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: Number.POSITIVE_INFINITY,
    })
  } catch {
    return undefined
  }
}
