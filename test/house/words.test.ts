import { expect, test } from 'vitest'
import { filesIn, sources, textOf } from './sources.ts'

/** What ARCHITECTURE.md and the style of the house avoid, each with the word that it uses instead. */
const avoided: Readonly<Record<string, RegExp>> = {
  'is no …: must be, is not a': /(?<!\bthere )\b(is|are|was|were) no (?!longer\b|more\b)[a-z]/gi,
  'is none: must be, is not': /(?<!\bthere )\b(is|are|was|were) none\b|\bor none that\b/gi,
  'so many: the number of': /\b(for|of|than|within) so many\b/g,
  'anew: again': /\banew\b/gi,
  'told: reported, known, given': /\b(?:un)?told\b|Told\b/g,
  // Clerk is also a sender.
  'clerk: queries': /clerk(?!: standard|\.com)/gi,
  'desk: admin': /\bdesk|Desk/g,
  'ledger: connection, lanes': /ledger/gi,
  'Shift: WorkerRun': /\b[A-Z]?\w*Shift\b/g,
  'Line as a type: WriteQueue': /\b(class|interface|type) Line\b/g,
  'LogKeeper: WalCheckpoint': /log-?keeper/gi,
  'deed: action': /\bdeeds?\b|Deed/gi,
  'patient: target': /\bpatients?\b|Patient/gi,
  'Lapse as a type: Finding': /\bLapse\b/g,
  'twin: alias': /twin(s|ned)?\b/gi,
  // STORE_SEALED has an anchor.
  'seal: encrypt': /\b(un)?seal(?!ed"|ed<)|Seal/g,
  'Means, Parts, Asked, Wanted: Deps, Options': /\w*(Means|Parts|Asked|Wanted)\b(?= ?[{<=,)])/g,
  'Mark: Watermark, highWaterMark': /\bMark\b/g,
  'facts: metadata, details': /\bfacts\b|Facts\b/g,
  'spoil: tamper': /spoil/gi,
  // The option and property of Nest and of @hono/node-server may be named.
  'rawBody: body': /(?<!request\.)\brawBody\b(?!: true|\?: unknown|: bytesOf)/g,
  'enqueue, dequeue, requeue: keep, claim, redrive': /(?<!\.)\b(en|de|re)queue/gi,
  'Undertaking, matter of, of which': /\bis .*'s matter\b/g,
}

const prose = ['README.md', ...filesIn('docs', '.md')]

test('the words that the house avoids stand in no source file and on no page', () => {
  const found = [...sources, ...prose].flatMap((file) => {
    const text = textOf(file)
    return Object.entries(avoided)
      .filter(([, pattern]) => text.search(pattern) >= 0)
      .map(([word]) => `${file}: ${word.split(':')[0]}`)
  })
  expect(found).toEqual([])
})

test('the word check sees what it looks for', () => {
  const samples: Readonly<Record<string, string>> = {
    'is no …: must be, is not a': 'secret is no text',
    'is none: must be, is not': 'client is none',
    'told: reported, known, given': 'interface Told {',
    'Shift: WorkerRun': 'class Shift {',
    'Means, Parts, Asked, Wanted: Deps, Options': 'means: EntryMeans)',
  }
  for (const [word, sample] of Object.entries(samples)) {
    expect(sample.search(avoided[word] ?? /^$/), word).toBeGreaterThanOrEqual(0)
  }
})

/** A docstring, or the header of a file, that describes a thing by a question instead of a noun. */
const question = /(?:\/\*\*\s+(?:\* )?|^\/\/ )(?:What|Whose|Whom)\b/

test('no docstring and no header begins with What or Whose', () => {
  const all = [...sources, ...filesIn('tools', '.tsx')]
  expect(all.filter((file) => question.test(textOf(file)))).toEqual([])
})

test('the check of docstrings sees both forms and no inline comment', () => {
  expect(question.test('// What a delivery is.')).toBe(true)
  expect(question.test('  /** What a run needs. */')).toBe(true)
  expect(question.test('  /**\n   * Whose person is forgotten.\n   */')).toBe(true)
  expect(question.test('const a = 1\n  // What is left is read.')).toBe(false)
})
