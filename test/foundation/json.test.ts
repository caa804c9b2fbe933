// The one walk over parsed JSON, held against a reviver and a count of levels.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isDeeperText, parseExact, parseJson } from '../../src/foundation/json.ts'

const key = fc.constantFrom('__proto__', 'constructor', 'prototype', 'a', 'proto')
const { value: anyJson } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 8 },
    fc.constantFrom(null, true, 0, 'constructor'),
    fc.array(tie('value'), { maxLength: 3 }),
    // Entries, since an object of JavaScript cannot hold a key twice.
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => new Map(entries)),
  ),
}))

/** JSON text; every other letter of a key may be escaped. */
function write(value: unknown, escaped: boolean): string {
  if (value instanceof Map) {
    const entries = [...value].map(([name, one]) => {
      const text = JSON.stringify(name)
      const shown = escaped ? text.replaceAll('o', '\\u006F').replaceAll('_', '\\u005f') : text
      return `${shown}:${write(one, escaped)}`
    })
    return `{${entries.join()}}`
  }
  if (Array.isArray(value)) return `[${value.map((one) => write(one, escaped)).join()}]`
  return JSON.stringify(value)
}

function reference(text: string): unknown {
  return JSON.parse(text, (name, value) => {
    if (name === '__proto__') return undefined
    const holds = typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
    return name === 'constructor' && holds ? undefined : value
  })
}

function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf))
}

test('drops what could reach a prototype as a reviver would, and nothing else', () => {
  fc.assert(
    fc.property(anyJson, fc.boolean(), (value, escaped) => {
      const text = write(value, escaped)
      expect(JSON.stringify(parseJson(text)?.value)).toBe(JSON.stringify(reference(text)))
      expect({}).not.toHaveProperty('a')
    }),
    { numRuns: 2_000 },
  )
})

test('refuses what has more levels, and counts none that it drops', () => {
  fc.assert(
    fc.property(anyJson, fc.nat(9), (value, most) => {
      const text = write(value, false)
      const deeper = levelsOf(reference(text)) > most
      expect(parseJson(text, most) === undefined).toBe(deeper)
      // Levels need two brackets each, so a text that is short cannot be deeper.
      if (text.length > most * 2) expect(isDeeperText(text, most)).toBe(deeper)
    }),
    { numRuns: 2_000 },
  )
})

test.each([
  ['[9007199254740993, -9007199254740993]', ['9007199254740993', '-9007199254740993']],
  ['{"id": 12345678901234567890, "n": 1}', { id: '12345678901234567890', n: 1 }],
  ['[9007199254740993, 1e20, 1.5]', ['9007199254740993', 1e20, 1.5]],
  [
    '{"a": ["\\"9007199254740993"], "b": 9007199254740993}',
    { a: ['"9007199254740993'], b: '9007199254740993' },
  ],
  ['{"__proto__": {"x": 1}, "id": 9007199254740993}', { id: '9007199254740993' }],
])('long integers of %s are read as text', (text, value) => {
  expect(parseExact(text)?.value).toEqual(value)
  expect(Object.keys(Object(parseExact(text)?.value))).toEqual(Object.keys(value))
})

test.each(['[1, 9007199254740991]', '[1e20]', '["9007199254740993"]'])(
  '%s has no long integer',
  (text) => {
    expect(parseExact(text)).toBeUndefined()
  },
)
