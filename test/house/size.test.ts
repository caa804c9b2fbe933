import ts from 'typescript'
import { expect, test } from 'vitest'
import { eachNode, sources, textOf } from './sources.ts'

const linesOf = (file: string) => textOf(file).trimEnd().split('\n').length

test('no file has more than 500 lines', () => {
  expect(sources.filter((file) => linesOf(file) > 500)).toEqual([])
})

test('an adapter for one framework has at most 45 lines', () => {
  for (const file of ['express', 'fastify', 'next']) {
    expect(linesOf(`adapters/${file}.ts`), file).toBeLessThanOrEqual(45)
  }
})

test('no function has more than 60 lines', () => {
  const long = sources.flatMap((file) => {
    const found: string[] = []
    eachNode(file, (node, source) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return
      const { line: first } = source.getLineAndCharacterOfPosition(node.getStart())
      const { line: last } = source.getLineAndCharacterOfPosition(node.getEnd())
      const name = node.name?.getText() ?? `line ${first + 1}`
      if (last - first + 1 > 60) found.push(`${file}: ${name}`)
    })
    return found
  })
  expect(long).toEqual([])
})
