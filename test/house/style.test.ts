import ts from 'typescript'
import { expect, test } from 'vitest'
import { eachNode, sources, textOf } from './sources.ts'

test('names.ts is the only file that spells a legacy name', () => {
  const code = (file: string) => textOf(file).replaceAll(/^\s*(\/\/|\*|\/\*).*$/gm, '')
  const spelled = sources.filter((file) => /['"`]request\.[a-z*$]/.test(code(file)))
  expect(spelled.filter((file) => !file.startsWith('tools/cli/'))).toEqual([
    'src/protocol/names.ts',
  ])
})

test('every file opens with at most three lines that say what it owns', () => {
  const withoutHeader = sources.filter(
    (file) =>
      !file.endsWith('index.ts') &&
      !/^(\/\/ .+\n){1,3}(?!\/\/)/.test(textOf(file).replace(/^#!.*\n/, '')),
  )
  expect(withoutHeader).toEqual([])
})

test('there is no any, enum, namespace or default export', () => {
  const found: string[] = []
  for (const file of sources) {
    eachNode(file, (node) => {
      if (node.kind === ts.SyntaxKind.AnyKeyword) found.push(`${file}: any`)
      if (ts.isEnumDeclaration(node) || ts.isModuleDeclaration(node)) {
        found.push(`${file}: enum or namespace`)
      }
      if (ts.isExportAssignment(node)) found.push(`${file}: default export`)
    })
  }
  expect(found).toEqual([])
})

test('host/ is the only room that names a runtime, or shares state of the process', () => {
  const inScope = sources.filter((file) => /^(?:src\/(?!host\/)|adapters\/)/.test(file))
  expect(inScope.filter((file) => /\bSymbol\.for\(/.test(textOf(file)))).toEqual([])
  const named = inScope.filter((file) => /\b(?:Deno|workerd|Bun|Lambda)\b/.test(textOf(file)))
  expect(named.filter((file) => !file.startsWith('adapters/lambda'))).toEqual([])
})

test('no check of bytes asks for a class of this realm', () => {
  const classes = /instanceof (Uint8Array|Buffer|ArrayBuffer|SharedArrayBuffer|DataView)\b/
  expect(sources.filter((file) => classes.test(textOf(file)))).toEqual([])
})

test('no file is a drawer of odds and ends', () => {
  const drawers = /(utils?|helpers?|common|shared|types|manager|service|base)\.ts$/
  expect(sources.filter((file) => drawers.test(file))).toEqual([])
})

test('zod is imported as a namespace, so that bundlers can drop its locales', () => {
  const named = sources.filter((file) => /import \{[^}]*\} from 'zod'/.test(textOf(file)))
  expect(named).toEqual([])
})

test('no signal is combined by AbortSignal.any, which the edge runtime of Next.js lacks', () => {
  const shipped = sources.filter((file) => /^(?:src|adapters)\//.test(file))
  expect(shipped.filter((file) => textOf(file).includes('AbortSignal.any'))).toEqual([])
})
