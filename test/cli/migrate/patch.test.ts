import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from 'diff'
import { describe, expect, test } from 'vitest'
import { unifiedDiff } from '../../../tools/cli/migrate/code/patch.ts'
import { rewriteSource } from '../../../tools/cli/migrate/code/rewrite.ts'

const name = 'a.ts'
const unlike = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`)

describe('the diff of a rename', () => {
  test.each([
    ['one line without an end', unlike(1), [0], ''],
    ['the first and the last line', unlike(9), [0, 8], '\n'],
    ['the last line without an end', unlike(9), [8], ''],
    ['lines before one without an end', unlike(9), [6], ''],
    ['lines beside each other', unlike(12), [4, 5, 6], '\n'],
    ['lines that share their context', unlike(30), [4, 11, 20], '\n'],
    ['lines that just do not', unlike(30), [4, 12], '\n'],
    ['nothing', unlike(3), [], '\n'],
  ])('of %s is that of a search for the shortest one', (_, lines, changed, end) => {
    const input = lines.join('\n') + end
    const output = lines.map((line, at) => (changed.includes(at) ? `new ${line}` : line)).join('\n')
    const searched = structuredPatch(`a/${name}`, `b/${name}`, input, output + end, '', '', {
      context: 3,
    })
    expect(unifiedDiff({ name, input, output: output + end })).toBe(
      formatPatch(searched, FILE_HEADERS_ONLY),
    )
  })

  test('of many thousand lines needs no search', () => {
    const input = "on('request.approved')\n".repeat(40_000)
    const { output } = rewriteSource(input, name)
    const lines = unifiedDiff({ name, input, output }).split('\n')
    expect(lines.filter((line) => line.startsWith('@@'))).toHaveLength(1)
    expect(lines.filter((line) => /^[-+]on/.test(line))).toHaveLength(80_000)
  })
})
