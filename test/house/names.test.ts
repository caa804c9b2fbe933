import ts from 'typescript'
import { expect, test } from 'vitest'
import { eachNode, roomOf, sources } from './sources.ts'

/** Where each type name is declared, by room. */
function declarations(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const file of sources) {
    eachNode(file, (node) => {
      const declares =
        ts.isInterfaceDeclaration(node) ||
        ts.isTypeAliasDeclaration(node) ||
        ts.isClassDeclaration(node)
      if (!declares || !node.name) return
      const key = `${roomOf(file)}: ${node.name.text}`
      found.set(key, [...(found.get(key) ?? []), file])
    })
  }
  return found
}

test('a type name is declared once in a room', () => {
  const twice = [...declarations()].filter(([, files]) => files.length > 1).map(([key]) => key)
  expect(twice.sort()).toEqual([])
})

test('no type name hides a global one', () => {
  const globals = ['Headers', 'Request', 'Response', 'Event', 'Error', 'Map', 'Set', 'Record']
  const hidden = [...declarations().keys()].filter((key) =>
    globals.includes(key.split(': ')[1] ?? ''),
  )
  expect(hidden).toEqual([])
})
