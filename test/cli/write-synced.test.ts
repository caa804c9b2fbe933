import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { writeNew, writeWhole } from '../../tools/cli/write-file.ts'
import { temporaryFolder } from '../inbox/temporary.ts'

const steps: string[] = []
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const noted = <Name extends 'fsyncSync' | 'renameSync' | 'linkSync'>(name: Name) =>
    vi.fn((...of: Parameters<(typeof fs)[Name]>) => {
      steps.push(name)
      return (fs[name] as (...of: unknown[]) => unknown)(...of)
    })
  const [fsyncSync, renameSync, linkSync] = [
    noted('fsyncSync'),
    noted('renameSync'),
    noted('linkSync'),
  ]
  return { ...fs, fsyncSync, renameSync, linkSync }
})

test('a file is synced before it has its name, and the name after', () => {
  const path = join(temporaryFolder(), 'a.json')
  steps.length = 0
  writeWhole(path, 'one')
  expect(steps).toEqual(['fsyncSync', 'renameSync', 'fsyncSync'])
  steps.length = 0
  writeNew({ content: 'new', pathOf: () => `${path}.new`, number: 1 })
  expect(steps).toEqual(['fsyncSync', 'linkSync', 'fsyncSync'])
})
