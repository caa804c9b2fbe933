import ts from 'typescript'
import { expect, test } from 'vitest'
import { eachNode, filesIn, sources, textOf } from './sources.ts'

const linesOf = (file: string) => textOf(file).trimEnd().split('\n').length

test('src shows 22 entries: the steps of the story and the rooms beside it', () => {
  const entries = new Set(filesIn('src', '').map((file) => file.split('/')[1]))
  expect(entries.size, [...entries].join(' ')).toBeLessThanOrEqual(22)
})

test('half of all files have at most 85 lines, and none has more than 300', () => {
  const sizes = sources.map(linesOf).sort((one, other) => one - other)
  expect(sizes[Math.floor(sizes.length / 2)]).toBeLessThanOrEqual(85)
  expect(sources.filter((file) => linesOf(file) > 300)).toEqual([])
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
