// Every sentence of SECURITY.md is held by tests, which are named here; a sentence without an entry,
// an entry without its sentence and a test that is no longer there fail.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '..')
const text = (file: string) => readFileSync(join(root, file), 'utf8')

/** The sentences below a heading, without their marks. */
function sentencesOf(document: string): string[] {
  return document
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) =>
      line
        .replace(/^- /, '')
        // The bold words that begin an item are its title.
        .replace(/\*\*[^*]+\*\* /, '')
        .split(/(?<=[.:])\s+(?=[A-Z`])/),
    )
}

/** `file: part of the title of a test in it`; nothing where a sentence is advice. */
type Holder = `${string}.ts: ${string}`

const advice: readonly Holder[] = []
const attacks = (title: string): Holder => `test/attacks.test.ts: ${title}`
const headerNames: Holder = 'test/protocol/header-names.test.ts: is proved only if the scheme'
const receiver = (title: string): Holder => `test/receiver.test.ts: ${title}`

const held: Readonly<Record<string, readonly Holder[]>> = {
  'Please report': advice,
  'Which faults are handled': [
    'test/house/fault-model.test.ts: a fault that is handled has a test',
  ],
  'You get an answer': advice,
  'Fixes are released': advice,
  'Nothing of a body': [
    receiver('runs no handler and no parser before the signature holds'),
    receiver('the body of a request without a well-formed signature is not read'),
    'test/closed-receiver.test.ts: neither unsigned bytes nor a copy',
  ],
  'The format of a signature': [
    'test/signature/schemes.test.ts: calls a signature of any other length or alphabet malformed',
    receiver('the body of a request without a well-formed signature is not read'),
  ],
  'Comparison takes constant time': [
    'test/signature/timing.full.test.ts: only a comparison that stops',
  ],
  'One thing reads unproved bytes': [
    'test/closed-receiver.test.ts: neither unsigned bytes nor a copy',
    receiver('costs no stack trace and runs no handler and no parser before the signature holds'),
  ],
  'It runs only where': [
    attacks('has a budget that only what can be diagnosed uses up'),
    'test/signature/diagnose.test.ts: the log helper diagnoses under a budget and logs no data',
    'test/observers.test.ts: the first refusal of each code is diagnosed outside production',
  ],
  'It computes HMACs over variants': [
    attacks('of a forged body of %s lets others run, and holds little memory'),
    attacks('runs one at a time'),
  ],
  'It parses bodies of up to 64 KiB': ['test/observers.test.ts: bodies of more than 64 KiB'],
  'One scheme is pinned': ['test/signature/jwks.test.ts: is rejected under any algorithm but'],
  'No algorithm, header or secret': [
    'test/signature/jwks.test.ts: is rejected under any algorithm but',
    'test/signature/schemes.test.ts: with any header whatsoever never throws and never verifies',
  ],
  'A shared token or an address': [
    'test/signature/authenticity.test.ts: is taken only by a receiver that asks for it by name',
  ],
  'A secret that is missing': [
    'test/signature/secrets.test.ts: is one that does not decode',
    attacks('of %s is refused, for anyone could sign'),
  ],
  'No error, outcome or log holds a secret': [
    'test/closed-receiver.test.ts: show no byte of a secret',
    'test/closed-receiver.test.ts: an error about a secret shows no byte of it',
  ],
  'A refusal tells the sender a code': [
    receiver('no error text, stack, secret or body reaches the sender'),
  ],
  'What is proved about a cause': [
    'test/signature/diagnose.test.ts: a diagnosis never reaches the sender',
  ],
  'Bodies are bounded as their bytes arrive': [
    receiver('bytes in flight count as they arrive: beyond the bound 503'),
    receiver('one address holds at most half of the bytes in flight'),
    receiver('a body that is too large is refused'),
  ],
  'A body beyond the share of its address': [
    "test/intake.test.ts: bytes beyond an address's share are rejected, and bodies of other addresses continue",
  ],
  'If all together are too much': [
    'test/intake.test.ts: if no address is known, bodies that stall give way to bodies that arrive',
  ],
  'Over fetch a short body of a declared length counts before it arrives': [
    'test/intake.test.ts: short bodies are counted before they arrive, up to a quarter of what may be held',
  ],
  'A body must arrive within ten seconds': [
    receiver('a body that does not arrive within bodyTimeout is refused'),
    'test/adapters/slow-bodies.test.ts: a body that drips is cut off after the deadline',
    'test/adapters/slow-bodies.test.ts: over fetch a body that does not come ends its connection: %s',
  ],
  'Compressed bodies are refused': ['test/adapters/matrix.test.ts: answers by the outcome table'],
  'JSON deeper than 512 levels': [
    'test/parse.test.ts: JSON nested 200,000 levels deep is refused',
    'test/parse.test.ts: no body can reach a prototype',
  ],
  'Observers and the package': [
    'test/closed-receiver.test.ts: the enumerable fields of observations hold no data of an event',
    'test/canary.test.ts: diagnosis contains the canary',
  ],
  'Outside production (`NODE_ENV`) the default warnings': [
    'test/observers.test.ts: outside production a warning shows the whole error',
    receiver('a failure on our side becomes a warning without the error text'),
  ],
  'With `encryption`, payloads': [
    'test/inbox/encrypt.test.ts: encrypted bytes are decrypted for the same row alone',
    'test/inbox/sqlite.test.ts: shows nothing of a person in file, log or lock when it is sealed',
  ],
  'Ids are keyed hashes': [
    'test/inbox/encryption.test.ts: no hash of a payload is kept that could be tried out',
  ],
  'What was put into the file without the key': [
    'test/inbox/encryption.test.ts: nothing that was put into a sealed inbox without the key',
  ],
  'The file is readable by its owner alone': [
    'test/inbox/sqlite.test.ts: is for its owner alone',
    'test/inbox/sqlite.test.ts: that was restored with another mode is made private again',
  ],
  'Failures are kept as class and place': [
    attacks('is described by its class and place, never by a line of its message'),
    'test/worker/worker.test.ts: as a dead letter after its attempts, without the text of its errors',
  ],
  "This package's own errors": [receiver('an error of our own is told with its code and fix')],
  '`forget` and retention erase them': [
    'tools/conformance/erasing.ts: erases the errors of handlers with the payload',
  ],
  'Tenants share no key': [
    'test/inbox/tenants.test.ts: whose ids are the same are neither duplicates nor conflicts',
    'test/inbox/tenants.test.ts: do not wait for each other',
    attacks('idempotency keys of tenants cannot meet'),
  ],
  'They take turns at a claim': ['tools/conformance/lanes.ts: lets waiting tenants take turns'],
  'The default scheme signs no time': ['test/replays.test.ts: the default scheme'],
  'An inbox tells it from a new one': [
    'test/inbox/inbox.test.ts: answers accepted, and every later copy duplicate',
  ],
  'Without one make handlers idempotent': [attacks('idempotency keys of tenants cannot meet')],
  'A scheme that signs a time': ['test/replays.test.ts: a scheme that signs a time'],
  'A name that a header states': [headerNames],
  'Otherwise a client with a recorded': [headerNames],
  'Have it signed': [headerNames],
  'Who holds the secret can send': [
    'test/inbox/inbox.test.ts: is answered, and neither kept nor handled, once it is proved',
  ],
  'Handlers of one tenant that hang': ['test/receiver.test.ts: are stopped at their time limit'],
  'Another tenant waits': ['tools/conformance/lanes.ts: lets waiting tenants take turns'],
  'A `Request` has joined': ['test/adapters/matrix.test.ts: refuses a repeated signature header'],
  'The joined value still': ['test/adapters/matrix.test.ts: refuses a repeated signature header'],
  'A forged body costs': ['test/signature/secrets.test.ts: many of them let other work run'],
  'With hundreds of tenants': advice,
  'A `Request` does not tell': [
    'test/adapters/authenticity.test.ts: a fetch adapter that is told no address refuses every one',
  ],
  'Behind a proxy all senders': advice,
  'Let the proxy buffer': advice,
  '`event.data` is': advice,
  'Log `event.id`': advice,
  'Its folder, and its schema': advice,
  'Nothing is promised if': advice,
  'Give an inbox a folder': advice,
  "What an application's role": advice,
  'Run the command line': advice,
  'It is for development': ['test/sandbox/api.test.ts: magic values, API keys and assumptions'],
  'With `--host` it answers': advice,
  'Lock entries for platforms': advice,
  'The published package has no install script': [
    'test/security-document.test.ts: no install script',
  ],
  'Node reports, heap snapshots': advice,
}

const sentences = sentencesOf(text('SECURITY.md'))

test.each(sentences)('SECURITY.md: %s', (sentence) => {
  const entries = Object.keys(held).filter((start) => sentence.startsWith(start))
  expect(entries, 'name the tests that hold this sentence').toHaveLength(1)
  for (const holder of held[entries[0] ?? ''] ?? []) {
    const [file = '', title = ''] = holder.split(/(?<=\.ts): /)
    expect(text(file), `${file} has no test '${title}'`).toContain(title)
  }
})

test('every entry belongs to a sentence', () => {
  const starts = Object.keys(held)
  const idle = starts.filter((start) => !sentences.some((one) => one.startsWith(start)))
  expect(idle).toEqual([])
})

test('there is no install script', () => {
  const { scripts } = JSON.parse(text('package.json')) as { scripts: Record<string, string> }
  const atInstall = ['preinstall', 'install', 'postinstall', 'prepare']
  expect(Object.keys(scripts).filter((name) => atInstall.includes(name))).toEqual([])
})
