// The size of the house, room by room. A budget only goes down.
import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { filesIn, importsOf, textOf } from './sources.ts'

const code = ['src', 'adapters', 'tools'].flatMap((folder) =>
  ['.ts', '.tsx', '.sql'].flatMap((ending) => filesIn(folder, ending)),
)
const linesOf = (file: string) => textOf(file).split('\n').length - 1
const sum = (files: readonly string[]) => files.reduce((all, file) => all + linesOf(file), 0)

/** Lines that a room may have; the first pattern that fits a file gives its room. */
const rooms: readonly (readonly [room: string, files: RegExp, lines: number])[] = [
  ['flat files, delivery and errors', /^src\/[\w-]+\.ts$/, 1_932],
  ['intake', /^src\/intake\//, 289],
  ['foundation', /^src\/foundation\//, 555],
  ['host', /^src\/host\//, 242],
  ['dispatch', /^src\/dispatch\//, 1_024],
  ['outcome and observe', /^src\/(outcome|observe)\//, 1_426],
  ['signature', /^src\/signature\//, 2_141],
  ['protocol', /^src\/protocol\//, 2_275],
  ['redaction', /^src\/redaction\//, 305],
  ['worker', /^src\/worker\//, 1_354],
  ['memory', /^src\/inbox\/stores\/memory\//, 25],
  ['sqlite', /^src\/inbox\/stores\/sqlite\//, 2_797],
  ['postgres', /^src\/inbox\/stores\/postgres\//, 3_410],
  ['inbox policy and move', /^src\/inbox\//, 3_395],
  ['client', /^src\/client\//, 2_697],
  ['vendors', /^src\/vendors\//, 3_284],
  ['testing', /^src\/testing\//, 1_069],
  ['adapters', /^adapters\//, 1_041],
  ['conformance', /^tools\/conformance\//, 1_400],
  ['sandbox', /^tools\/sandbox\//, 4_631],
  ['console', /^tools\/console\//, 4_792],
  ['cli', /^tools\/cli\//, 6_417],
]

describe('lines', () => {
  const roomOf = (file: string) => rooms.find(([, files]) => files.test(file))?.[0]

  test('every file belongs to a room', () => {
    expect(code.filter((file) => roomOf(file) === undefined)).toEqual([])
  })

  test.each(rooms)('%s keeps to its budget', (room, _, lines) => {
    expect(sum(code.filter((file) => roomOf(file) === room))).toBeLessThanOrEqual(lines)
  })

  test('all rooms together have at most 46,501 lines in 346 files', () => {
    expect(sum(code)).toBeLessThanOrEqual(46_501)
    expect(code.length).toBeLessThanOrEqual(346)
  })
})

describe('words', () => {
  const wordsOf = (files: readonly string[]) =>
    files.reduce((all, file) => all + textOf(file).split(/\s+/).filter(Boolean).length, 0)
  const pages = filesIn('docs', '.md')
  const below = (folder: string) => pages.filter((file) => file.startsWith(`docs/${folder}/`))
  const guides = pages.filter((file) => !/^docs\/(errors\.md$|errors\/|decisions\/)/.test(file))

  test.each([
    ['README.md', ['README.md'], 700],
    ['the guides', guides, 29_000],
    ['the pages of errors', [...below('errors'), 'docs/errors.md'], 5_000],
    ['the decisions', below('decisions'), 5_000],
    ['CHANGELOG.md', ['CHANGELOG.md'], 250],
  ])('%s keep to their budget', (_, files, words) => {
    expect(wordsOf(files)).toBeLessThanOrEqual(words)
  })
})

test('a decision has at most 60 words', () => {
  const pages = filesIn('docs/decisions', '.md')
  const decisions = pages.flatMap((page) => textOf(page).match(/^- .*$/gm) ?? [])
  expect(decisions.length).toBeGreaterThan(100)
  expect(decisions.filter((one) => one.split(' ').length > 61)).toEqual([])
})

/** A file for each import path and vendor, and files that the build replaces. */
const apart = /^(adapters|src\/vendors)\/|\/(assets|writer-script)\.ts$/

test('a file under 60 lines with one importer, in its own folder, is part of that importer', () => {
  const importers = new Map<string, Set<string>>()
  for (const { from, to } of code.filter((file) => !file.endsWith('.sql')).flatMap(importsOf)) {
    importers.set(to, (importers.get(to) ?? new Set()).add(from))
  }
  const satellites = code.filter((file) => {
    const [only, ...more] = importers.get(file) ?? []
    const isAlone = only !== undefined && more.length === 0 && dirname(only) === dirname(file)
    return isAlone && linesOf(file) < 60 && !only.endsWith('/index.ts') && !apart.test(file)
  })
  expect(satellites).toEqual([])
})

test('the root shows the folders of the house and no further one', () => {
  const known = 'src adapters tools examples test bench docs scripts'.split(' ')
  const tracked = execFileSync('git', ['ls-tree', '-d', '--name-only', 'HEAD'], {
    encoding: 'utf8',
  })
  const folders = tracked.trim().split('\n')
  expect(folders.filter((name) => !name.startsWith('.') && !known.includes(name))).toEqual([])
})
