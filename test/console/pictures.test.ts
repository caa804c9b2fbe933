import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

test('the documents show the pictures that the script takes, and each is small', () => {
  const taken = [...read('scripts/screenshots.ts').matchAll(/await picture\('(\w+)'/g)].map(
    ([, name]) => `${name}.png`,
  )
  expect(readdirSync(join(root, 'docs/images')).sort()).toEqual([...taken].sort())
  const shown = (path: string) =>
    [...read(path).matchAll(/\]\((?:docs\/)?images\/(\w+\.png)\)/g)].map(([, name]) => name)
  expect(new Set(shown('docs/console.md'))).toEqual(new Set(taken))
  expect(shown('README.md').length).toBeGreaterThan(0)
  for (const name of taken) {
    expect(statSync(join(root, 'docs/images', name)).size, name).toBeLessThan(200_000)
  }
})
