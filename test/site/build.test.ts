import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { landing } from '../../scripts/site/landing.ts'

const root = resolve(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(file, 'utf8')

test('the site without a build of the package says which command makes one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'site-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const part of ['scripts', 'package.json', 'docs', 'README.md']) {
    cpSync(join(root, part), join(folder, part), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const { scripts } = JSON.parse(read(join(folder, 'package.json')))
  expect(scripts['docs:site']).toBe('node scripts/site/build.ts')
  const { status, stderr, stdout } = spawnSync(process.execPath, ['scripts/site/build.ts'], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toBe(
    'There is no build: run `npm run docs`, or `npm run build` before `npm run docs:site`\n',
  )
})

test('the landing page says what the README says: a sentence, five benefits, a program of 80 columns', () => {
  const page = landing()
  expect(page.match(/^- \*\*/gm)).toHaveLength(5)
  expect(page).toContain(read(join(root, 'README.md')).split('\n')[2]?.split(':')[0])
  expect(page).toMatch(/!\[.*\]\(\.\/images\/\w+\.png\)/)
  expect(page).not.toMatch(/\]\(docs\//)
  expect(page).toMatch(/^npm install idv-webhooks/m)
  const program = /^```js\n(.*?)^```/ms.exec(page)?.[1] ?? ''
  expect(program).toContain('createReceiver')
  expect(program.split('\n').filter((line) => line.length > 80)).toEqual([])
})
