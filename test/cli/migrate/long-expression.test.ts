import { expect, test } from 'vitest'
import { rewriteSource } from '../../../src/cli/migrate/code/rewrite.ts'

test('an expression that could run for hours is ended, and reported', () => {
  const endless = 'const c = /^(request|(([a-z.]+)+)+)+[!]$/'
  const begun = performance.now()
  const { findings } = rewriteSource(`${endless}\nconst name = 'request.approved'`, 'a.js')
  expect(findings).toMatchObject([{ kind: 'regexp', line: 1 }])
  expect(performance.now() - begun).toBeLessThan(10_000)
})
