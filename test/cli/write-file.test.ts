import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeNew } from '../../src/cli/write-file.ts'
import { temporaryFolder } from '../inbox/temporary.ts'

test('a new file takes the next free number and replaces no other file', () => {
  const folder = temporaryFolder()
  const pathOf = (number: number) => join(folder, `${number}.json`)
  const write = (content: string) => writeNew({ content, pathOf, number: 1, mode: 0o600 })
  expect(['one', 'two', 'three'].map(write)).toEqual([1, 2, 3].map(pathOf))
  expect([1, 2, 3].map((at) => readFileSync(pathOf(at), 'utf8'))).toEqual(['one', 'two', 'three'])
  expect(readdirSync(folder)).toHaveLength(3)
  expect(statSync(pathOf(3)).mode & 0o777).toBe(0o600)
})
