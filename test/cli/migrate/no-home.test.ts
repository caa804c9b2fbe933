import { expect, test, vi } from 'vitest'
import { excludeFilesOf } from '../../../tools/cli/migrate/code/repository.ts'

// As for a user that has neither HOME nor an entry in passwd.
vi.mock('node:os', () => ({
  homedir: () => {
    throw new Error('uv_os_homedir returned ENOENT')
  },
}))

test('a user without a home has no rules of git there', () => {
  vi.stubEnv('XDG_CONFIG_HOME', undefined)
  vi.stubEnv('GIT_CONFIG_GLOBAL', '/dev/null')
  expect(excludeFilesOf('/nowhere')).toEqual(['/nowhere/.git/info/exclude'])
  vi.stubEnv('XDG_CONFIG_HOME', '/settings')
  expect(excludeFilesOf('/nowhere')[0]).toBe('/settings/git/ignore')
  vi.unstubAllEnvs()
})
