import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { writeNew, writeWhole } from '../../tools/cli/files.ts'
import { temporaryFolder } from '../inbox/temporary.ts'

const steps: string[] = []
vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>()
  const noted = <Name extends 'fsyncSync' | 'renameSync'>(name: Name) =>
    vi.fn((...of: Parameters<(typeof fs)[Name]>) => {
      steps.push(name)
      return (fs[name] as (...of: unknown[]) => unknown)(...of)
    })
  const [fsyncSync, renameSync] = [noted('fsyncSync'), noted('renameSync')]
  const writeFileSync = vi.fn((...of: Parameters<typeof fs.writeFileSync>) => {
    if (Object(of[2]).flush) steps.push('flushed')
    fs.writeFileSync(...of)
  })
  return { ...fs, fsyncSync, renameSync, writeFileSync }
})

test('a file is synced before it has its name, and the name after', () => {
  const path = join(temporaryFolder(), 'a.json')
  steps.length = 0
  writeWhole(path, 'one')
  expect(steps).toEqual(['flushed', 'renameSync', 'fsyncSync'])
  steps.length = 0
  writeNew({ content: 'new', pathOf: () => `${path}.new`, number: 1 })
  expect(steps).toEqual(['flushed', 'fsyncSync'])
})
