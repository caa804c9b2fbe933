// The git repositories of files, and whether they have uncommitted changes.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The top folder of the repository; undefined outside of one, or without git. */
export function repositoryOf(folder: string): string | undefined {
  return git(folder, 'rev-parse', '--show-toplevel')?.trim()
}

/** Why a repository must not be changed. */
export interface RefusedRepository {
  readonly top: string
  /** `unknown`: git did not answer. */
  readonly why: 'dirty' | 'unknown'
}

/**
 * The repositories of files, nested ones included, that have uncommitted changes or may have. An
 * untracked file counts only if it is about to be changed.
 */
export function refusedRepositories(
  files: readonly string[],
  changing: readonly string[],
): readonly RefusedRepository[] {
  const tops = new Map<string, string | undefined>()
  for (const file of files) topOf(dirname(file), tops)
  const found = [...new Set(tops.values())].filter((top) => top !== undefined)
  const wanted = new Set(changing)
  const whyOf = (top: string): RefusedRepository['why'] | undefined => {
    const status = git(top, 'status', '--porcelain', '-z', '--untracked-files=all')
    if (status === undefined) return 'unknown'
    const isDirty = status
      .split('\0')
      .filter(Boolean)
      .some((line) => !line.startsWith('?? ') || wanted.has(join(top, line.slice(3))))
    return isDirty ? 'dirty' : undefined
  }
  return found.flatMap((top) => {
    const why = whyOf(top)
    return why ? [{ top, why }] : []
  })
}

/** The nearest folder above with .git: a folder, or a file in worktrees and submodules. */
function topOf(folder: string, known: Map<string, string | undefined>): string | undefined {
  if (known.has(folder)) return known.get(folder)
  const above = dirname(folder)
  const isTop = existsSync(join(folder, '.git'))
  const top = isTop ? folder : above === folder ? undefined : topOf(above, known)
  known.set(folder, top)
  return top
}

function git(folder: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', [...args], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: Number.POSITIVE_INFINITY,
    })
  } catch {
    return undefined
  }
}
