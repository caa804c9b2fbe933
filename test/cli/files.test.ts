import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { writeNew, writeWhole } from '../../tools/cli/files.ts'
import { temporaryFolder } from '../inbox/temporary.ts'

test('a new file takes the next free number and replaces no other file', () => {
  const folder = temporaryFolder()
  const pathOf = (number: number) => join(folder, `${number}.json`)
  const write = (content: string) => writeNew(content, 1, pathOf)
  expect(['one', 'two', 'three'].map(write)).toEqual([1, 2, 3].map(pathOf))
  expect([1, 2, 3].map((at) => readFileSync(pathOf(at), 'utf8'))).toEqual(['one', 'two', 'three'])
  expect(readdirSync(folder)).toHaveLength(3)
  expect(statSync(pathOf(3)).mode & 0o777).toBe(0o600)
})

test('files that a killed run with this process id has left are no obstacle', () => {
  const path = join(temporaryFolder(), 'a.json')
  writeFileSync(`${path}.${process.pid}.tmp`, 'half')
  writeWhole(path, 'one')
  writeWhole(path, 'two')
  expect(writeNew('new', 1, () => `${path}.new`)).toBe(`${path}.new`)
  expect(readFileSync(path, 'utf8')).toBe('two')
})

test.runIf(process.platform !== 'win32')('what is private is so where the file was there', () => {
  const path = join(temporaryFolder(), 'secrets.json')
  writeFileSync(path, '[]', { mode: 0o666 })
  writeWhole(path, '["secret"]', 0o600)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})
