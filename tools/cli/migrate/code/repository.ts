// The git repositories of files, and whether they have uncommitted changes.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { git } from './git.ts'

/** The top folder of the repository above; undefined outside of one, or without git. */
export function repositoryOf(folder: string): string | undefined {
  const top = git(folder, 'rev-parse', '--show-toplevel')?.trim()
  if (!top) return undefined
  // A repository can name a working tree that lies elsewhere (`core.worktree`).
  const path = relative(top, folder)
  return isAbsolute(path) || path.split(sep)[0] === '..' ? undefined : top
}

/** The files outside of the tree with rules of what git ignores; they need not be there. */
export function excludeFilesOf(top: string): readonly string[] {
  const own = git(top, 'rev-parse', '--git-path', 'info/exclude')?.trim()
  const named = git(top, 'config', '--path', '--get', 'core.excludesFile')?.trim()
  const files = [named || ownIgnoreFile(), own || join('.git', 'info', 'exclude')]
  return files.flatMap((file) => (file ? [resolve(top, file)] : []))
}

/** Where git looks by default; undefined for a user without a home, as in a container. */
function ownIgnoreFile(): string | undefined {
  try {
    return join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'git', 'ignore')
  } catch {
    return undefined
  }
}

/** Why a repository must not be changed, and of which file that is so. */
export interface RefusedRepository {
  readonly top: string
  /** `unknown`: git did not answer. `unwatched`: it would show no change of the file. */
  readonly why: 'dirty' | 'unknown' | 'unwatched'
  readonly file?: string
}

/**
 * The repositories of files, nested ones included, that have uncommitted changes or may have, or of
 * which a file is about to change that `git diff` would not show.
 */
export function refusedRepositories(
  files: readonly string[],
  changing: readonly string[],
): readonly RefusedRepository[] {
  const tops = new Map<string, string | undefined>()
  for (const file of files) topOf(dirname(file), tops)
  const found = [...new Set(tops.values())].filter((top) => top !== undefined)
  return found.flatMap((top) => {
    const own = changing.filter((file) => topOf(dirname(file), tops) === top)
    const why = whyRefused(top, own)
    return why ? [{ top, ...why }] : []
  })
}

function whyRefused(
  top: string,
  changing: readonly string[],
): Omit<RefusedRepository, 'top'> | undefined {
  const status = git(top, 'status', '--porcelain', '-z', '--untracked-files=no')
  // Each with a letter: capital H, unless git was asked to look past its changes.
  const listed = git(top, 'ls-files', '-z', '-v')
  if (status === undefined || listed === undefined) return { why: 'unknown' }
  if (status !== '') return { why: 'dirty' }
  const watched = new Set(listed.split('\0').filter((line) => line.startsWith('H ')))
  const file = changing.find((one) => !watched.has(`H ${inGit(top, one)}`))
  return file === undefined ? undefined : { why: 'unwatched', file }
}

const inGit = (top: string, file: string) => relative(top, file).split(sep).join('/')

/** The nearest folder above with .git: a folder, or a file in worktrees and submodules. */
function topOf(folder: string, known: Map<string, string | undefined>): string | undefined {
  if (known.has(folder)) return known.get(folder)
  const above = dirname(folder)
  const isTop = existsSync(join(folder, '.git'))
  const top = isTop ? folder : above === folder ? undefined : topOf(above, known)
  known.set(folder, top)
  return top
}
