import fc from 'fast-check'
import { legacyNames } from 'idv-webhooks/protocol'
import { describe, expect, test } from 'vitest'
import { rewriteSource } from '../../../tools/cli/migrate/rewrite.ts'
import { corpus } from './corpus.ts'

test('there are snippets enough', () => {
  expect(corpus.length).toBeGreaterThan(60)
})

test.each(corpus)('$name', ({ input, output = input, kinds = [], file = 'a.tsx' }) => {
  const found = rewriteSource(input, file)
  expect(found.output).toBe(output)
  expect(found.findings.map(({ kind }) => kind)).toEqual(kinds)
})

test('a second run changes nothing, in any snippet', () => {
  for (const { input, file = 'a.tsx' } of corpus) {
    const { output } = rewriteSource(input, file)
    expect(rewriteSource(output, file).edits).toEqual([])
  }
})

/** Lines that can stand side by side in one file, with what each holds. */
const lines = fc.constantFrom(
  ...corpus
    .filter(
      ({ name, file, input }) => !file && !/ignore|u002e|^a (return|hashbang)/.test(name + input),
    )
    .map(({ input }) => `;{${input.replace(/^(import|export)/, '//$1')}\n}`),
)
const spaces = fc.constantFrom('\n', '\r\n', '\n\n\t', '\u2028', ' /* request.approved */ ', '')
const marks = fc.constantFrom('', '\uFEFF')

describe('whatever stands in a file', () => {
  const programs = fc
    .tuple(marks, fc.array(fc.tuple(lines, spaces), { maxLength: 12 }))
    .map(([mark, parts]) => mark + parts.flat().join(''))

  test('only the listed literals differ', () => {
    fc.assert(
      fc.property(programs, (program) => {
        const { output, edits } = rewriteSource(program, 'a.tsx')
        // Putting the old names back at the listed places gives the old file, byte for byte.
        const starts = lineStarts(output)
        const restored = [...edits].reverse().reduce((text, { line, column, from, to }) => {
          const shift = edits
            .filter((other) => other.line === line && other.column < column)
            .reduce((sum, other) => sum + other.to.length - other.from.length, 0)
          const at = (starts[line - 1] ?? 0) + column - 1 + shift + 1
          expect(text.slice(at, at + to.length)).toBe(to)
          return text.slice(0, at) + from + text.slice(at + to.length)
        }, output)
        expect(restored).toBe(program)
        expect(edits.every(({ from }) => [...legacyNames, 'request.*'].includes(from))).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test('a second run changes nothing', () => {
    fc.assert(
      fc.property(programs, (program) => {
        const { output } = rewriteSource(program, 'a.tsx')
        expect(rewriteSource(output, 'a.tsx').output).toBe(output)
      }),
      { numRuns: 300 },
    )
  })
})

function lineStarts(text: string): readonly number[] {
  const ends = text.matchAll(/\r\n|[\n\r\u2028\u2029]/g)
  return [0, ...Array.from(ends, (end) => end.index + end[0].length)]
}

test('a file that verifies deliveries itself is left and listed', () => {
  const proof = "createHmac('sha256', secret)"
  const compare = "if (name === 'request.approved') f()"
  const { output, findings } = rewriteSource(`${proof}\n${compare}`, 'server.ts')
  expect(output).toBe(`${proof}\n${compare}`)
  expect(findings).toEqual([{ kind: 'receiver', line: 2, column: 14, name: 'request.approved' }])
  const migrated = `import { createReceiver } from 'idv-webhooks'\n${proof}\n${compare}`
  expect(rewriteSource(migrated, 'server.ts').edits).toHaveLength(1)
})

test.each([
  ['routes.yaml', 'on:\n  - request.approved\n  - client.created\n', ['2:5']],
  ['a.json', '{ "event": "request.approved" }', ['1:13']],
  ['a.vue', "<script>\non('request.approved')\n</script>", ['2:5']],
  ['notes.md', 'Sent as `request.approved` and `request.*`.', ['1:10', '1:33']],
  ['kept.yaml', '# idv-webhooks-ignore\nname: request.approved\n', []],
  ['kept.md', '<!-- idv-webhooks-ignore-file -->\nrequest.approved\n', []],
  ['other.yaml', 'a: my.request.approved\nb: request.approvedly\nc: request.id\n', []],
])('legacy names in %s are listed with their place', (file, text, expected) => {
  const { output, findings } = rewriteSource(text, file)
  expect(findings.map(({ kind, line, column }) => `${kind} ${line}:${column}`)).toEqual(
    expected.map((place) => `mention ${place}`),
  )
  expect(output).toBe(text)
})
