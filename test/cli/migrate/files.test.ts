import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { migrateFile } from '../../../tools/cli/migrate/code/migrate-files.ts'
import { rewriteSource } from '../../../tools/cli/migrate/code/rewrite.ts'
import { sourceFiles } from '../../../tools/cli/migrate/code/source-files.ts'

const kinds = (text: string, file: string) =>
  rewriteSource(text, file).findings.map(({ kind, line, column }) => `${line}:${column} ${kind}`)

test('rules in a pipe are not waited for, and one file that is too large ends no run', () => {
  const folder = mkdtempSync(join(tmpdir(), 'idv-migrate-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  execFileSync('mkfifo', [join(folder, '.gitignore')])
  const sizes = { 'big.js': 9, 'huge.js': 600, 'huge.json': 600, 'small.js': 0 }
  for (const [name, size] of Object.entries(sizes)) {
    writeFileSync(join(folder, name), "receiver.on('request.approved')")
    if (size > 0) truncateSync(join(folder, name), size * 1024 * 1024)
  }
  // A bundle without the word.
  writeFileSync(join(folder, 'foreign.js'), `const a = 1\n`.repeat(900_000))
  const tooLarge = 'is larger than 8 MiB: leave it out with --exclude'
  const migrated = sourceFiles(folder, ['.']).map((path) => migrateFile(folder, path))
  expect(migrated.map(({ file, error, edits }) => [file, error?.message, edits.length])).toEqual([
    ['big.js', tooLarge, 0],
    ['foreign.js', undefined, 0],
    ['huge.js', tooLarge, 0],
    ['huge.json', undefined, 0],
    ['small.js', undefined, 1],
  ])
})

test('a pipe that is named is refused, not waited for', () => {
  const folder = mkdtempSync(join(tmpdir(), 'idv-migrate-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  execFileSync('mkfifo', [join(folder, 'a.ts')])
  expect(() => sourceFiles(folder, ['a.ts'])).toThrow('a.ts is a pipe or a device')
})

describe('fixtures in JSON', () => {
  test('are renamed where a value or key is exactly a legacy name', () => {
    const text = '{ "event": "request.approved",\r\n  "by": { "request.expired": 1.0 } }\n'
    const { output, findings } = rewriteSource(text, 'a.json')
    expect(output).toBe(
      '{ "event": "verification.approved",\r\n  "by": { "verification.expired": 1.0 } }\n',
    )
    expect(findings).toEqual([])
  })

  test('are only listed where a new name would break their signature', () => {
    const text = '{"headers":{"x-service-signature":"ab"},"event":"request.approved"}'
    expect(rewriteSource(text, 'a.json').output).toBe(text)
    expect(kinds(text, 'a.json')).toEqual(['1:50 mention'])
  })

  test('are only listed where they are not JSON', () => {
    expect(kinds('// a comment\n{ "event": "request.approved" }', 'a.json')).toEqual([
      '2:13 mention',
    ])
  })
})

test.each([
  ['routes.yaml', 'on:\n  - request.approved\n  - client.created\n', ['2:5 mention']],
  ['rename.sql', "SELECT 1 FROM e WHERE name = 'request.expired';", ['1:31 mention']],
  ['notes.md', 'Sent as `request.approved` and `request.*`.', ['1:10 mention', '1:33 mention']],
  ['kept.yaml', '# idv-webhooks-ignore\nname: request.approved\n', []],
  ['kept.md', '<!-- idv-webhooks-ignore-file -->\nrequest.approved\n', []],
  ['other.yaml', 'a: my.request.approved\nb: request.approvedly\nc: request.id\n', []],
])('legacy names in %s are listed with their place', (file, text, expected) => {
  expect(kinds(text, file)).toEqual(expected)
  expect(rewriteSource(text, file).output).toBe(text)
})

describe('scripts of components', () => {
  test('of Vue and Svelte are renamed, and their markup is listed', () => {
    const text = [
      '<template><p>request.expired</p></template>',
      '<script lang="ts" setup>',
      "const name: string = 'request.approved'",
      '</script>',
      '<script>',
      "export const other = 'request.rejected'",
      '</script>',
      '',
    ].join('\n')
    for (const file of ['a.vue', 'a.svelte']) {
      const { output, edits, findings } = rewriteSource(text, file)
      expect(output).toBe(
        text
          .replace("'request.approved'", "'verification.approved'")
          .replace("'request.rejected'", "'verification.rejected'"),
      )
      expect(edits.map(({ line }) => line)).toEqual([3, 6])
      expect(findings).toMatchObject([{ kind: 'mention', line: 1 }])
    }
  })

  test('of Astro are its frontmatter', () => {
    const text = "---\nconst name = 'request.approved'\n---\n<p>{name}</p>\n"
    expect(rewriteSource(text, 'a.astro').output).toContain("'verification.approved'")
  })
})

describe('a path after a constant base', () => {
  const bases = ['/v2/api', 'https://api.idv.example/v2/api']
  test.each([
    "const base = 'https://api.idv.example/v2/api'\nfetch(`${base}/requests`)",
    "const base = 'https://api.idv.example/v2/api'\nfetch(base + '/requests?page=1')",
  ])('is renamed: %s', (text) => {
    const { output } = rewriteSource(text, 'a.ts', { bases })
    expect(output).toBe(text.replace('/requests', '/verifications'))
  })

  test('of another host is only reported', () => {
    const text = "const base = 'https://other.example/api'\nfetch(`${base}/requests`)"
    const { output, findings } = rewriteSource(text, 'a.ts', { bases })
    expect(output).toBe(text)
    expect(findings).toMatchObject([{ kind: 'path' }])
  })
})
