import { existsSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { optionTables } from '../../scripts/option-tables.ts'
import { filesIn, textOf } from './sources.ts'

const pages = filesIn('docs', '.md').filter((file) => file.split('/').length === 2)
const all = ['README.md', ...pages, ...filesIn('docs/errors', '.md')]

/** The page of lists has nothing to run. */
const guides = pages.filter((page) => page !== 'docs/fault-model.md')

test.each(guides)('%s opens with a program or a command, and what it prints', (page) => {
  const [code = '', output = ''] = fencesOf(page)
  // Programs are run by test/installed/documents.full.test.ts, commands by test/cli/built/document.test.ts.
  if (code.startsWith('```console\n')) {
    expect(code).toMatch(/^\$ .+\n(?!\$|```)/m)
  } else {
    expect(code).toMatch(/^```js\nimport /)
    expect(output).toMatch(/^```text\n/)
    expect(textOf(page)).toContain(`${code}\n\n${output}`)
  }
})

test.each(all)('a line of a table of %s has at most 160 characters', (page) => {
  const rows = proseOf(page).filter((line) => line.startsWith('|'))
  expect(rows.filter((line) => line.length > 160)).toEqual([])
})

test.each(all)('a sentence of %s has at most 30 words', (page) => {
  const lines = proseOf(page).filter((line) => !/^[|[#]/.test(line))
  const sentences = lines.flatMap((line) =>
    line.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').split(/(?<=[.:;!?])\s+/),
  )
  const wordsOf = (sentence: string) => sentence.split(/\s+/).filter((word) => /\w/.test(word))
  expect(sentences.length).toBeGreaterThan(2)
  expect(sentences.filter((one) => wordsOf(one).length > 30)).toEqual([])
})

test('the tables of options.md are what the types say', () => {
  const { now, made } = optionTables()
  expect(now, 'run `node scripts/option-tables.ts`').toBe(made)
})

/** The anchors of a page, as GitHub and the site make them of its headings, and those it names. */
function anchorsOf(page: string): ReadonlySet<string> {
  const headings = proseOf(page).filter((line) => /^#+ /.test(line))
  const slugs = headings.map((heading) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
  return new Set([
    ...slugs,
    ...[...textOf(page).matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id),
  ])
}

test('links between pages lead to files and headings that are there', () => {
  const sources = [...all, 'SECURITY.md', ...filesIn('docs/skills', '.md')]
  const broken = sources.flatMap((page) =>
    [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      const [path = '', anchor] = link.split('#')
      if (/^[a-z]+:/.test(link)) return []
      const file = path === '' ? page : posix.join(posix.dirname(page), path)
      if (!existsSync(file)) return [`${page}: ${link}`]
      return anchor === undefined || anchorsOf(file).has(anchor) ? [] : [`${page}: ${link}`]
    }),
  )
  expect(broken).toEqual([])
})

test('no program names a variable console, because handlers beside it log', () => {
  const naming = all.filter((page) =>
    fencesOf(page).some((code) => /\b(?:const|let|var) console\b/.test(code)),
  )
  expect(naming).toEqual([])
  expect(all.filter((page) => /`[^`]*\bconsole\.(?:node|fetch)\b/.test(textOf(page)))).toEqual([])
})

function fencesOf(page: string): string[] {
  return [...textOf(page).matchAll(/^```.*?^```$/gms)].map(([fence]) => fence)
}

/** The lines of a page outside its programs. */
function proseOf(page: string): string[] {
  return textOf(page)
    .replaceAll(/^```.*?^```$/gms, '')
    .split('\n')
}

test('programs that link to examples/ equal the examples, which the tests run', () => {
  const shown = ['docs/quick-start.md', 'docs/frameworks.md'].flatMap((page) => [
    ...textOf(page).matchAll(/^\[[^\]]+\]\(\.\.\/(examples\/[^)]+)\)\n\n```ts\n(.*?)```/gms),
  ])
  expect(shown.length).toBeGreaterThanOrEqual(6)
  for (const [, file = '', code] of shown) {
    expect(code, file).toBe(textOf(file).replace(/^(\/\/.*\n)+/, ''))
  }
})

test('a printed command that reads an inbox names it', () => {
  const command = /idv-webhooks inbox (?:find|list|show|stats|redrive|replay|forget|purge)[^`\n]*/g
  const printed = all.flatMap((page) => [...textOf(page).matchAll(command)].map(([one]) => one))
  expect(printed.length).toBeGreaterThan(10)
  expect(printed.filter((one) => !/--inbox|IDV_INBOX/.test(one))).toEqual([])
})

test('printed commands of a shell run as they are after npm install', () => {
  const fences = all.flatMap((page) => fencesOf(page).filter((code) => code.startsWith('```sh\n')))
  expect(fences.filter((code) => code.includes('idv-webhooks')).length).toBeGreaterThan(5)
  expect(fences.filter((code) => /^(\w+=\S+ )*idv-webhooks /m.test(code))).toEqual([])
})
