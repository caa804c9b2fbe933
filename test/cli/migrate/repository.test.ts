import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { refusedRepositories } from '../../../tools/cli/migrate/code/repository.ts'
import { sourceFiles } from '../../../tools/cli/migrate/code/source-files.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const git = (cwd: string, ...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.test', ...args], { cwd })

/** A repository with these files, all committed; the second folder is beside it. */
function repository(files: Readonly<Record<string, string>>): readonly [string, string] {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'idv-repository-')))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const top = join(folder, 'main')
  for (const [name, text] of Object.entries(files)) write(join(top, name), text)
  git(top, 'init', '-q')
  git(top, 'add', '-A', '-f')
  git(top, 'commit', '-qm', 'all')
  return [top, join(folder, 'beside')]
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

const files = { '.gitignore': 'src/gen/\n', 'src/a.ts': 'a\n' }

test('a hook of a linked working tree passes over what git ignores there', () => {
  const [top, beside] = repository(files)
  git(top, 'worktree', 'add', '-q', beside)
  write(join(beside, 'src/gen/g.ts'), 'g\n')
  // As git sets it for hooks and aliases, without GIT_WORK_TREE.
  vi.stubEnv('GIT_DIR', join(top, '.git/worktrees/beside'))
  expect(sourceFiles(beside, ['src'])).toEqual([join(beside, 'src/a.ts')])
})

test('the repository of a folder is asked, not the one that the environment names', () => {
  const [top] = repository(files)
  const [other] = repository(files)
  write(join(top, 'src/a.ts'), 'changed\n')
  vi.stubEnv('GIT_DIR', join(other, '.git'))
  vi.stubEnv('GIT_WORK_TREE', other)
  vi.stubEnv('GIT_INDEX_FILE', join(other, '.git/index'))
  const file = join(top, 'src/a.ts')
  expect(refusedRepositories([file], [file])).toEqual([{ top, why: 'dirty' }])
})

test('a working tree that lies elsewhere does not end the search', () => {
  const [top, beside] = repository({ ...files, '..a/b.ts': 'b\n' })
  mkdirSync(beside)
  expect(sourceFiles(top, ['..a'])).toEqual([join(top, '..a/b.ts')])
  for (const elsewhere of [beside, join(top, 'src')]) {
    git(top, 'config', 'core.worktree', elsewhere)
    expect(sourceFiles(top, ['.'])).toContain(join(top, 'src/a.ts'))
  }
})

test('no monitor and no hook that a repository names is run', () => {
  const [top, ran] = repository(files)
  const file = join(top, 'src/a.ts')
  git(top, 'config', 'core.fsmonitor', `touch ${ran}; echo`)
  writeFileSync(join(top, '.git/hooks/post-index-change'), `#!/bin/sh\ntouch ${ran}\n`, {
    mode: 0o755,
  })
  // Another time of a file makes git write its index anew.
  utimesSync(file, 1, 1)
  expect(refusedRepositories([file], [file])).toEqual([])
  expect(existsSync(ran)).toBe(false)
})

test('nothing is fetched into a partial clone, whose program for that a repository names', () => {
  const [top, ran] = repository(files)
  const file = join(top, 'src/a.ts')
  // The index forgets what its folders are, so that the tree of HEAD is asked for.
  git(top, 'rm', '-q', '--cached', 'src/a.ts')
  git(top, 'add', 'src/a.ts')
  const tree = String(git(top, 'rev-parse', 'HEAD:src')).trim()
  rmSync(join(top, '.git/objects', tree.slice(0, 2), tree.slice(2)))
  const settings = {
    'core.repositoryFormatVersion': '1',
    'extensions.partialClone': 'origin',
    'remote.origin.url': 'ssh://x.test/y',
    'remote.origin.promisor': 'true',
    'core.sshCommand': `touch ${ran}; false`,
  }
  for (const [name, value] of Object.entries(settings)) git(top, 'config', name, value)
  expect(refusedRepositories([file], [file])).toEqual([{ top, why: 'unknown' }])
  expect(existsSync(ran)).toBe(false)
})
