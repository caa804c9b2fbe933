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

/** The beginning of a docstring, or of a file's header, without a subject or a verb. */
const fragment = /^(?:Of|By|Also|The same|Those|Who|Whose|Whom|What)\b(?! default\b)/
/** Words that do not say who acts. */
const unnamed = /\b(?:whoever|nobody|somebody|those that)\b/i

/** Docstrings, and headers of files. */
function docstringsOf(text: string): readonly string[] {
  const found = text.matchAll(/\/\*\*([\s\S]*?)\*\/|^((?:\/\/.*\n)+)/gm)
  const plain = [...found].map(([, doc, header]) => doc ?? header ?? '')
  return plain.map((one) =>
    one
      .replaceAll(/\n[ \t]*(?:\*|\/\/)|^\/\//g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  )
}

test('a docstring says who does what: it is no fragment, and names the actor', () => {
  const all = [...sources, ...filesIn('tools', '.tsx')]
  const found = all.flatMap((file) =>
    docstringsOf(textOf(file))
      .filter((one) => fragment.test(one) || unnamed.test(one))
      .map((one) => `${file}: ${one}`),
  )
  expect(found).toEqual([])
})

test('a page names the actor', () => {
  const pages = [...prose, 'SECURITY.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']
  expect(pages.filter((page) => unnamed.test(textOf(page)))).toEqual([])
})

test('the check of docstrings sees both forms and no inline comment', () => {
  const fragments = (text: string) => docstringsOf(text).filter((one) => fragment.test(one))
  expect(fragments('// What a delivery is.\n')).toHaveLength(1)
  expect(fragments('  /** What a run needs. */')).toHaveLength(1)
  expect(fragments('  /**\n   * Whose person is forgotten.\n   */')).toHaveLength(1)
  expect(fragments('const a = 1\n  // What is left is read.\n')).toEqual([])
  expect(fragments('/** By default 10 ms. */')).toEqual([])
})
