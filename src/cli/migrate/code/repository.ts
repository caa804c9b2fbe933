// What git says of the folder: where its repository begins, and whether work would be lost in it.
import { execFileSync } from 'node:child_process'

/** The repository's top folder; undefined outside one, or without git. */
export function repositoryOf(folder: string): string | undefined {
  return git(folder, 'rev-parse', '--show-toplevel')?.trim()
}

/** Whether something in the repository is not committed; undefined outside one. */
export function isDirty(folder: string): boolean | undefined {
  const status = git(folder, 'status', '--porcelain')
  return status === undefined ? undefined : status !== ''
}

function git(folder: string, ...args: readonly string[]): string | undefined {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    return execFileSync('git', [...args], { cwd: folder, encoding: 'utf8', stdio: [...stdio] })
  } catch {
    return undefined
  }
}
