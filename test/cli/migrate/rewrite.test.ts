import fc from 'fast-check'
import { legacyNames } from 'idv-webhooks/protocol'
import { describe, expect, test } from 'vitest'
import { rewriteSource } from '../../../tools/cli/migrate/code/rewrite.ts'
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

test('a collision tells where the names meet, and where else the old one is left', () => {
  const input = `on('request.expired', a)
on('verification.expired', b)
send('request.expired')
send('request.expired')`
  const { findings, edits } = rewriteSource(input, 'a.ts')
  expect(edits).toEqual([])
  expect(findings).toMatchObject([{ kind: 'collision', line: 1 }])
  expect(findings[0]?.suggestion).toMatch(
    /exists in line 2,.*occurrences in lines 3, 4 also stay unchanged/,
  )
})

describe('API paths', () => {
  const paths = { bases: ['/v2/api', 'https://api.example.com'] }
  test.each([
    [`fetch("/v2/api/requests?page=1")`, `fetch("/v2/api/verifications?page=1")`],
    ['fetch(`/v2/api/requests/${id}`)', 'fetch(`/v2/api/verifications/${id}`)'],
    [`get('https://api.example.com/requests/1')`, `get('https://api.example.com/verifications/1')`],
  ])('%s', (input, output) => {
    const found = rewriteSource(input, 'a.ts', paths)
    expect(found.output).toBe(output)
    expect(found.findings).toEqual([])
    expect(rewriteSource(input, 'a.ts').output).toBe(input)
  })

  test.each([
    [`app.get('/requests', list)`, ['path']],
    ['fetch(`${base}/requests/${id}`)', ['path']],
    [`fetch('https://api.test/v1/requests')`, ['path']],
    [`fetch('https://api.test/v2/api/requests')`, ['path']],
    ['fetch(`https://other.test/v2/api/requests/${id}`)', ['path']],
    [`get(base + '/requests/' + id)`, ['path']],
    [`get('requests/' + id)`, ['path']],
    [`get(base + 'requests')`, ['path']],
    ['get(`requests/${id}`)', ['path']],
    ['get(`${base}requests`)', ['path']],
    [`new URL('requests', base)`, ['path']],
    [`client.get('requests')`, ['path']],
    [`[base, 'requests', id].join('/')`, ['path']],
    ['/^\\/requests\\/(\\d+)$/.test(path)', ['path']],
    [`new RegExp('^/requests/')`, ['path']],
    ['<a href="/requests">x</a>', ['path']],
    [`axios({ url: 'requests' })`, ['path']],
    ['const resource = `requests`', ['path']],
    [`if (path.split('/')[1] === 'requests') f()`, ['path']],
    [`new RegExp('requests')`, ['path']],
    [`x = { 'requests': 1 }`, []],
    ['/\\/(requests|verifications)\\//.test(path)', []],
    ['/too many requests/i.test(message)', []],
    [`app.get('/requests-log', list)`, []],
    [`log('too many requests')`, []],
    [`metrics.count('requests')`, []],
    [`import x from '/v2/api/requests'`, []],
  ])('may be the app’s own: %s', (input, kinds) => {
    const found = rewriteSource(input, 'a.tsx', paths)
    expect(found.output).toBe(input)
    expect(found.findings.map(({ kind }) => kind)).toEqual(kinds)
  })
})

test('a finding tells its place and what to do', () => {
  const [finding] = rewriteSource('f()\n  on(`request.${step}`)', 'a.ts').findings
  expect(finding).toEqual({
    line: 2,
    column: 6,
    kind: 'template',
    text: '`request.${step}`',
    suggestion: "build the name from 'verification.', or list the names",
  })
})
