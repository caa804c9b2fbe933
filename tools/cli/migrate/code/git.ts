// Asks git about the repository of a folder, whichever the environment names.
import { execFileSync } from 'node:child_process'

/** Git sets these in hooks and aliases: the folder may be of another repository. */
const ofRepository = [
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_IMPLICIT_WORK_TREE', 'GIT_COMMON_DIR', 'GIT_INDEX_FILE'],
  ...['GIT_PREFIX', 'GIT_NAMESPACE', 'GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES'],
  ...['GIT_CONFIG', 'GIT_GRAFT_FILE', 'GIT_SHALLOW_FILE'],
]
const unset = Object.fromEntries(ofRepository.map((name) => [name, undefined]))

/** A repository can name programs for git to run; the questions asked here need none. */
const withoutPrograms = ['-c', 'core.fsmonitor=false', '-c', 'core.hooksPath=/dev/null']

/** The answer of git in a folder; undefined where it fails. */
export function git(folder: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', [...withoutPrograms, ...args], {
      cwd: folder,
      // In a partial clone a question could fetch, by a program that the repository names.
      env: { ...process.env, ...unset, GIT_NO_LAZY_FETCH: '1', GIT_ALLOW_PROTOCOL: '' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: Number.POSITIVE_INFINITY,
    })
  } catch {
    return undefined
  }
}
