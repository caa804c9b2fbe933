import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const sources = ['src', 'adapters'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file)),
)

interface Import {
  readonly from: string
  readonly to: string
  readonly dynamic: boolean
}

/** Every import of a file, types included, as the compiler sees them. */
function importsOf(file: string): Import[] {
  const { importedFiles } = ts.preProcessFile(readFileSync(join(root, file), 'utf8'), true, true)
  const text = readFileSync(join(root, file), 'utf8')
  return importedFiles.map(({ fileName }) => ({
    from: file,
    to: fileName.startsWith('.')
      ? relative(root, resolve(root, dirname(file), fileName))
      : fileName,
    dynamic: new RegExp(
      `import\\(\\s*['"]${fileName.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&')}`,
    ).test(text),
  }))
}

const imports = sources.flatMap(importsOf)
const inside = imports.filter(({ to }) => to.startsWith('src/') || to.startsWith('adapters/'))
const outside = imports.filter(({ to }) => !to.startsWith('src/') && !to.startsWith('adapters/'))

/** The floors of ARCHITECTURE.md: the first pattern that fits a file gives its floor. */
const floors: readonly (readonly [pattern: RegExp, floor: number])[] = [
  [/^src\/errors\.ts$/, 0],
  [/^src\/(abortable|bytes|check|clock|defined|delivery|json|warn)\.ts$/, 1],
  [/^src\/signature\//, 1],
  [/^src\/protocol\//, 1],
  [/^src\/(admit|dispatch|intake|observe|outcome|parse|patterns|verify)\.ts$/, 2],
  [/^src\/inbox\/(?!stores\/|index)/, 3],
  [/^src\/(arrival|fetch-resource|options|pipeline|receiver|worker\/.*)\.ts$/, 4],
  [/^src\/(inbox\/stores|client)\//, 5],
  [/^src\/testing\//, 6],
  [/^src\/sandbox\//, 7],
  [/^src\/cli\//, 8],
  [/^src\/index\.ts$/, 4],
  [/^src\/inbox\/index\.ts$/, 5],
  [/^adapters\//, 5],
]

function floorOf(file: string): number {
  const found = floors.find(([pattern]) => pattern.test(file))
  if (!found) throw new Error(`${file} stands on no floor: give it one here and in ARCHITECTURE.md`)
  return found[1]
}

describe('imports', () => {
  test('are found at all', () => {
    expect(inside.length).toBeGreaterThan(80)
    expect(inside.every(({ to }) => sources.includes(to))).toBe(true)
  })

  test('never go up the floors, types included', () => {
    const up = inside.filter(({ from, to }) => floorOf(to) > floorOf(from))
    expect(up).toEqual([])
  })

  test('make no cycle, types included', () => {
    const next = new Map(
      sources.map((file) => [file, inside.filter((one) => one.from === file).map((one) => one.to)]),
    )
    const done = new Set<string>()
    const walk = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) throw new Error(`cycle: ${[...path, file].join(' → ')}`)
      if (done.has(file)) return
      for (const to of next.get(file) ?? []) walk(to, [...path, file])
      done.add(file)
    }
    for (const file of sources) walk(file, [])
    expect(done.size).toBe(sources.length)
  })

  test('of a door happen nowhere under src, but in the command line', () => {
    const doors = inside.filter(
      ({ from, to }) => to.endsWith('/index.ts') && from.startsWith('src/'),
    )
    expect(doors.filter(({ from }) => !from.startsWith('src/cli/'))).toEqual([])
  })

  test('of adapters are the front door and the adapter for node alone', () => {
    const allowed = ['src/index.ts', 'adapters/node.ts', 'adapters/fetch.ts']
    const others = inside.filter(
      ({ from, to }) => from.startsWith('adapters/') && !allowed.includes(to),
    )
    expect(others).toEqual([])
  })

  test('of the command line from other rooms are doors', () => {
    const through = inside.filter(
      ({ from, to }) => from.startsWith('src/cli/') && !to.startsWith('src/cli/'),
    )
    expect(through.length).toBeGreaterThan(10)
    expect(
      through.filter(
        ({ to }) => !/\/index\.ts$|^src\/inbox\/stores\/sqlite\.ts$|^src\/check\.ts$/.test(to),
      ),
    ).toEqual([])
  })

  test('of the inbox by the corridor are types', () => {
    for (const file of ['arrival', 'attempt', 'corridor', 'options', 'receiver', 'worker'].map(
      (name) => `src/${name}.ts`,
    )) {
      const text = readFileSync(join(root, file), 'utf8')
      for (const [line] of text.matchAll(/^import .*inbox\/.*$/gm)) {
        expect(line, file).toMatch(/^import type /)
      }
    }
  })
})

describe('one dependency, one door', () => {
  test.each([
    ['zod', /^src\/(protocol\/|sandbox\/schemas\/|client\/contract\.ts)/],
    ['raw-body', /^adapters\/node\.ts$/],
    ['fastify-plugin', /^adapters\/fastify\.ts$/],
    ['fastify', /^adapters\/fastify\.ts$/],
    ['pg-boss', /^src\/inbox\/stores\/postgres/],
    ['bullmq', /^src\/inbox\/stores\/redis/],
    ['leven', /^src\/check\.ts$/],
    ['commander', /^src\/cli\/(?!migrate|discover|doctor)/],
    ['@babel/parser', /^src\/cli\/migrate\/code\/syntax\.ts$/],
    ['magic-string', /^src\/cli\/migrate\/code\/rewrite\.ts$/],
    ['diff', /^src\/cli\/migrate\/code\/report\.ts$/],
    ['ignore', /^src\/cli\/migrate\/code\/(exclusion|source-files)\.ts$/],
  ])('%s', (name, allowed) => {
    const users = outside.filter(({ to }) => to === name || to.startsWith(`${name}/`))
    expect(users.filter(({ from }) => !allowed.test(from))).toEqual([])
  })

  test('node: reaches neither the core nor the fetch adapter', () => {
    const allowed = /^(src\/hmac\/node\.ts|src\/(cli|sandbox|inbox|testing)|adapters\/(?!fetch))/
    const users = outside.filter(({ to }) => to.startsWith('node:'))
    expect(users.filter(({ from }) => !allowed.test(from))).toEqual([])
  })
})

describe('the style of the house', () => {
  const text = (file: string) => readFileSync(join(root, file), 'utf8')
  const spelled = sources.filter((file) =>
    /['"`]request\.[a-z*$]/.test(text(file).replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')),
  )

  test('names.ts is the only file that spells a legacy name', () => {
    expect(spelled.filter((file) => !file.startsWith('src/cli/'))).toEqual([
      'src/protocol/names.ts',
    ])
  })

  test('no file is longer than 300 lines, no adapter longer than its task', () => {
    for (const file of sources) {
      expect(text(file).split('\n').length, file).toBeLessThanOrEqual(300)
    }
    for (const file of ['express', 'fastify', 'next']) {
      expect(text(`adapters/${file}.ts`).split('\n').length, file).toBeLessThanOrEqual(45)
    }
  })

  test('every file opens with at most three lines that say what it owns', () => {
    const closed = sources.filter((file) => !file.endsWith('index.ts'))
    for (const file of closed) {
      const opening = /^(\/\/ .+\n){1,3}(?!\/\/)/.test(text(file).replace(/^#!.*\n/, ''))
      expect(opening, file).toBe(true)
    }
  })

  test('there is no any, enum, namespace, default export or file of odds and ends', () => {
    for (const file of sources) {
      const code = ts.createSourceFile(file, text(file), ts.ScriptTarget.Latest, true)
      const found: string[] = []
      const visit = (node: ts.Node): void => {
        if (node.kind === ts.SyntaxKind.AnyKeyword) found.push('any')
        if (ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node))
          found.push('enum or namespace')
        if (ts.isExportAssignment(node)) found.push('default export')
        ts.forEachChild(node, visit)
      }
      visit(code)
      expect(found, file).toEqual([])
      expect(file).not.toMatch(/(utils?|helpers?|common|shared|types|manager|service|base)\.ts$/)
    }
  })
})
