// Every fault that docs/fault-model.md calls handled names the tests that show it.
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { textOf } from './sources.ts'

const [, handled = ''] = /## Handled\n(.*?)\n## /s.exec(textOf('docs/fault-model.md')) ?? []
const rows = handled.split('\n').filter((line) => line.startsWith('- '))

test.each(rows)('a fault that is handled has a test: %s', (row) => {
  const tests = [...row.matchAll(/`(test\/[^`]+)`/g)].map(([, file = '']) => file)
  expect(tests.length).toBeGreaterThan(0)
  expect(tests.filter((file) => !existsSync(file))).toEqual([])
})
