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

test('the package works where an application has replaced the global Promise', () => {
  // The command line has a process of its own.
  const found = sources.filter((file) => !file.startsWith('tools/cli/')).flatMap(relianceIn)
  expect(found).toEqual([])
})

/** `value instanceof Promise` misses native promises there, and `withResolvers` may be missing. */
function relianceIn(file: string): string[] {
  const found: string[] = []
  eachNode(file, (node) => {
    const isTest =
      ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword
    if (isTest && /\bPromise$/.test(node.right.getText())) found.push(`${file}: instanceof Promise`)
    if (ts.isPropertyAccessExpression(node) && /\bPromise\.withResolvers$/.test(node.getText())) {
      found.push(`${file}: Promise.withResolvers`)
    }
  })
  return found
}

test('no file is a drawer of odds and ends', () => {
  const drawers = /(utils?|helpers?|common|shared|types|manager|service|base)\.ts$/
  expect(sources.filter((file) => drawers.test(file))).toEqual([])
})

test('zod is imported as a namespace, so that bundlers can drop its locales', () => {
  const named = sources.filter((file) => /import \{[^}]*\} from 'zod'/.test(textOf(file)))
  expect(named).toEqual([])
})
