import ts from 'typescript'
import { expect, test } from 'vitest'
import { eachNode, filesIn, sources } from './sources.ts'

/** Where each type name is declared. */
function declarations(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const file of [...sources, ...filesIn('tools', '.tsx')]) {
    eachNode(file, (node) => {
      const declares =
        ts.isInterfaceDeclaration(node) ||
        ts.isTypeAliasDeclaration(node) ||
        ts.isClassDeclaration(node)
      if (!declares || !node.name) return
      const { text } = node.name
      found.set(text, [...(found.get(text) ?? []), file])
    })
  }
  return found
}

test('a type name is declared once in the whole tree', () => {
  expect([...declarations()].filter(([, files]) => files.length > 1)).toEqual([])
})

test('no type name hides a global one', () => {
  const globals = ['Headers', 'Request', 'Response', 'Event', 'Error', 'Map', 'Set', 'Record']
  const found = declarations()
  expect(globals.filter((name) => found.has(name))).toEqual([])
})
