import { expect, test } from 'vitest'
import { ignoresItself } from '../../../tools/cli/migrate/code/ignore-comments.ts'
import { rewriteSource } from '../../../tools/cli/migrate/code/rewrite.ts'
import { outcomesIn } from '../../../tools/cli/migrate/outcome-line.ts'

test('an expression that could run for hours is ended, and reported', () => {
  const endless = 'const c = /^(request|(([a-z.]+)+)+)+[!]$/'
  const begun = performance.now()
  const { findings } = rewriteSource(`${endless}\nconst name = 'request.approved'`, 'a.js')
  expect(findings).toMatchObject([{ kind: 'regexp', line: 1 }])
  expect(performance.now() - begun).toBeLessThan(10_000)
})

test('thousands of them are ended together, and reported', { timeout: 15_000 }, () => {
  const slow = (_: unknown, at: number) => `const r${at} = /^(((([a-z.])+)+)+)+!0$|request!/`
  const { findings } = rewriteSource(Array.from({ length: 2_000 }, slow).join('\n'), 'a.js')
  expect(findings).toHaveLength(2_000)
})

// Each took minutes.
test.each([
  ['a value of JSON that names signatures', 'a.json', `{"a":"${'signature'.repeat(80_000)}"}`],
  ['scripts of a component that never end', 'a.vue', '<script>'.repeat(100_000)],
])('%s are read in time', { timeout: 15_000 }, (_, file, text) => {
  expect(rewriteSource(text, file).edits).toEqual([])
})

test('a line of openings of comments is read in time', { timeout: 15_000 }, () => {
  expect(ignoresItself('/*/'.repeat(200_000))).toBe(false)
})

// More than the stack of an expression holds.
test.each(['a', '\\"'])('an outcome beside 12 MB of %j is read', (part) => {
  const note = part.repeat(12_000_000 / part.length)
  const outcome = `{"note":"${note}","type":"outcome","at":"2026-11-01T00:00:00Z","kind":"handled"}`
  const { seen } = outcomesIn(`before ${outcome} after`)
  expect(seen).toMatchObject([{ at: new Date('2026-11-01T00:00:00Z') }])
})

test('the blocks of a component are found, and its markup is searched', () => {
  const vue = [
    '---\n---\n<script></script><SCRIPT>',
    "<script setup>\non('request.approved')\n</script>",
    '<p>request.expired</p>',
    '<script>never closed, request.approved',
  ]
  const { edits, findings } = rewriteSource(vue.join('\n'), 'a.vue')
  expect(edits.map(({ line }) => line)).toEqual([5])
  expect(findings.map(({ line, kind }) => `${line} ${kind}`)).toEqual(['7 mention', '8 mention'])
})

test.each([
  ['// idv-webhooks-ignore-file', true],
  [' * idv-webhooks-ignore-file', true],
  ["a = 'b' // idv-webhooks-ignore-file", false],
  ['idv-webhooks-ignore-file // idv-webhooks-ignore-file', true],
  ['// idv-webhooks-ignore-files', false],
  ["a = 1\n/* it's idv-webhooks-ignore-file */", true],
])('a broken file with %j ignores itself: %s', (text, ignores) => {
  expect(ignoresItself(text)).toBe(ignores)
})
