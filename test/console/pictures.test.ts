import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const kept = (ending: string) =>
  readdirSync(join(root, 'docs/images'))
    .filter((name) => name.endsWith(ending))
    .sort()
const shown = (path: string) =>
  [...read(path).matchAll(/\]\((?:docs\/)?images\/([\w.-]+)\)/g)].map(([, name]) => name).sort()

test('the documents show the pictures that the script takes, and each is small', () => {
  const taken = [...read('scripts/screenshots.ts').matchAll(/await picture\('(\w+)'/g)].map(
    ([, name]) => `${name}.png`,
  )
  expect(kept('.png')).toEqual([...taken].sort())
  expect(new Set(shown('docs/console.md'))).toEqual(new Set(taken))
  expect(shown('README.md').length).toBeGreaterThan(0)
  for (const name of taken) {
    expect(statSync(join(root, 'docs/images', name)).size, name).toBeLessThan(200_000)
  }
})

test('the performance guide shows every chart that the benchmark published', () => {
  expect(kept('.svg').length).toBeGreaterThan(0)
  expect(shown('docs/performance.md')).toEqual(kept('.svg'))
})
