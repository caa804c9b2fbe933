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

const long = fc.constantFrom(
  ...['9007199254740993', '-9007199254740993', '12345678901234567890', '9007199254740992.0'],
  ...['1e20', '1.2345678901234567E+25', '-1e999', '123456789012345.678', '9007199254740991', '-0'],
)
const inText = fc.string({ unit: fc.constantFrom('"', '\\', '1234567890123456', ':', 'é', '\n') })
const { text: jsonWithLong } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 5 },
    long,
    inText.map((text) => JSON.stringify(text)),
    fc.array(tie('text'), { maxLength: 4 }).map((all) => `[${all.join(' ,\n')}]`),
    fc
      .array(fc.tuple(inText, tie('text')), { maxLength: 4 })
      // A key that stands twice has one value.
      .map((all) => `{${all.map(([key, one], at) => `${JSON.stringify(key + at)} : ${one}`)}}`),
  ),
}))

/** As a reviver reads it, which is told the source of each number. */
function exactly(text: string) {
  let isAny = false
  const revive = (_: string, value: unknown, { source = '' }: { source?: string }) => {
    if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
    isAny = true
    return /^-?\d+$/.test(source) ? source : value
  }
  const value: unknown = JSON.parse(text, revive as Parameters<typeof JSON.parse>[1])
  return isAny ? { value } : undefined
}

test('long integers are read as a reviver reads them, wherever they stand', () => {
  fc.assert(
    fc.property(jsonWithLong, (part) => {
      const text = `[1234567890123456, ${part}]`
      expect(parseExact(text)).toEqual(exactly(text))
    }),
    { numRuns: 5_000 },
  )
})
