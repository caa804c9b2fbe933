import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { check } from '../../scripts/site/check.ts'
import { groupsOfPages, root } from '../../scripts/site/pages.ts'
import { filesIn } from '../house/sources.ts'

function siteOf(files: Readonly<Record<string, string>>): string {
  const dist = mkdtempSync(join(tmpdir(), 'idv-site-'))
  onTestFinished(() => rmSync(dist, { recursive: true }))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(dist, name)), { recursive: true })
    writeFileSync(join(dist, name), text)
  }
  return dist
}

test('a built site with links and anchors that hold has no faults', () => {
  const dist = siteOf({
    'index.html':
      '<a href="/errors/#causes">a</a> <a href="./guide#one">b</a> <a href="#top" id="top">c</a>',
    'guide.html': '<h2 id="one">One</h2> <a href="https://vendor.example/docs">elsewhere</a>',
    'errors/index.html': '<h2 id="causes">Causes</h2> <a href="../guide">back</a>',
  })
  expect(check(dist)).toEqual({ pages: 3, links: 5, faults: [] })
})

test('lost pages and headings, and everything that is loaded from elsewhere, are faults', () => {
  const dist = siteOf({
    'index.html':
      '<script src="https://cdn.example/a.js"></script><link rel="stylesheet" href="//fonts.example/b.css"><img src="/c.png"><a href="/lost">x</a><a href="/guide#two">y</a>',
    'guide.html': '<h2 id="one">One</h2>',
    'assets/style.css': '@import "https://fonts.example/d.css"; a { background: url(/e.png) }',
  })
  expect(check(dist).faults).toEqual([
    'index.html loads https://cdn.example/a.js',
    'index.html loads //fonts.example/b.css',
    'index.html links to /lost: there is no such page',
    'index.html links to /guide#two: the page has no such heading',
    'assets/style.css loads https://fonts.example/d.css',
  ])
})

test('every guide has its place in the reading order, with a title and a first sentence', () => {
  const pages = groupsOfPages().flatMap((group) => group.pages)
  const guides = filesIn('docs', '.md').filter((file) => file.split('/').length === 2)
  expect(pages.map(({ file }) => file)).toEqual(expect.arrayContaining(guides))
  expect(new Set(pages.map(({ path }) => path)).size).toBe(pages.length)
  for (const { file, title, summary } of pages) {
    expect(title, join(root, file)).not.toBe(file)
    if (file.startsWith('docs/')) expect(summary.length, file).toBeGreaterThan(20)
  }
})
