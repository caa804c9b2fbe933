// discover: the signature scheme of captured deliveries, found once, by hand, and pinned in code.
// A receiver never guesses; this is for the afternoon before there is one.
import { testSecret } from '../../testing/index.ts'
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { inWords, toCode } from '../discover/paste.ts'
import { type Fit, type Found, searchScheme } from '../discover/search.ts'
import { exitCodes } from '../exit-code.ts'
import { count, type Output, printable } from '../output.ts'
import type { DiscoveredFacts } from '../records/proving.ts'
import { repeated } from '../repeated.ts'
import { findSecrets, needSecrets, type SecretOptions, secretFileOption } from '../secrets.ts'
import { act, addressFrom, declare, type Session } from '../session.ts'

interface DiscoverOptions extends SecretOptions {
  readonly url?: string
  readonly template?: readonly string[]
  readonly header?: string
}

export const discover = (session: Session) =>
  declare('discover', {
    summary: 'find the signature scheme of captured deliveries',
    details: [
      'Searches for the one way of signing that proves every capture under your secret: which header, how it is written, which encoding, how the secret becomes a key, what is signed. Prints it as code to paste. Take captures as they came (capture --raw), two or more of different events.',
      'Exits 0 when one scheme fits; 1 when several do (capture one more), none does, no signature is present, An id that was seen with one event only is a guess, and is told as one.',
    ],
    examples: [
      'idv-webhooks discover private-captures/',
      'idv-webhooks discover a.json b.json --json > scheme.json && idv-webhooks verify a.json --scheme scheme.json',
      "idv-webhooks discover a.json --template '{id}/{timestamp}/{body}'",
    ],
  })
    .argument('<captures...>', 'capture files, folders of them, or - for stdin')
    .option(
      '--url <url>',
      'the address that the sender knows, for schemes that sign it',
      addressFrom,
    )
    .option('--template <text>', 'another thing that may be signed; may be repeated', repeated)
    .option('--header <name>', 'the header to look at, where several are signed')
    .addOption(secretFileOption())
    .action(act<DiscoverOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: DiscoverOptions, paths: readonly string[]) {
  const { out, signal } = session
  const captures = await readCaptures(session, paths)
  const redacted = captures.filter((capture) => capture.redacted)
  const resigned = redacted.filter(({ verified }) => verified !== false)
  const secrets = await (redacted.length === captures.length ? findSecrets : needSecrets)(
    session,
    options,
  )
  if (resigned.length > 0) out.say(ownScheme(resigned.length))
  if (redacted.length > resigned.length) out.say(spelledAnew(redacted.length - resigned.length))
  const found = await searchScheme({
    captures,
    secrets: [
      ...secrets,
      ...(resigned.length > 0 ? [{ id: 'test-secret', value: testSecret }] : []),
    ],
    url: options.url,
    templates: options.template ?? [],
    header: options.header,
    signal,
    onProgress: (tried) => out.progress(`${tried} schemes tried`),
  })
  report(session, captures, found)
  return found.result === 'found' ? exitCodes.ok : exitCodes.failed
}

function ownScheme(many: number): string {
  return `${count(many, 'capture was', 'captures were')} redacted and signed again by this program, so the scheme is ours and not the sender's: record with capture --raw`
}

function spelledAnew(many: number): string {
  return `${count(many, 'capture was', 'captures were')} redacted after being refused, so no signature fits the bytes: record with capture --raw`
}

/** Whose scheme was found: our own signature on redacted captures says nothing of the sender. */
function factsOf(captures: readonly NamedCapture[]): DiscoveredFacts {
  const redacted = captures.filter((capture) => capture.redacted)
  const resigned = redacted.filter(({ verified }) => verified !== false)
  return {
    type: 'discovered',
    captures: captures.length,
    of: resigned.length > 0 ? 'package' : 'sender',
    redacted: redacted.length,
    ...(resigned.length > 0 && { warning: ownScheme(resigned.length) }),
  }
}

function report({ out }: Session, captures: readonly NamedCapture[], found: Found): void {
  const facts = factsOf(captures)
  const { result } = found
  switch (result) {
    case 'found':
      reportFound(out, facts, { captures, found })
      return
    case 'ambiguous': {
      const fits = found.fits.map(({ scheme, body }) => ({ scheme, body }))
      out.record({ ...facts, result, fits, ...(found.headers && { headers: found.headers }) })
      out.data('ambiguous')
      for (const { scheme } of fits) out.data(`  ${printable(describe(scheme))}`)
      out.say(
        found.headers
          ? `each of these headers is signed, and either is enough: choose one with --header ${printable(found.headers[0] ?? '')}`
          : `${fits.length} schemes fit equally well: capture one more, of another event and at another time`,
      )
      return
    }
    case 'no-signature':
      out.record({ ...facts, result, files: found.files })
      out.data('no signature present')
      for (const file of found.files) out.data(`  ${printable(file)}`)
      out.say('no header of these captures could be a signature')
      return
    case 'no-match':
      out.record({ ...facts, result })
      out.data('no scheme fits')
      out.say(
        'the captures look signed, but no HMAC scheme of this package fits with this secret: check the secret, capture before any proxy, or pass what is signed with --template',
      )
  }
}

interface FoundScheme {
  readonly captures: readonly NamedCapture[]
  readonly found: Extract<Found, { result: 'found' }>
}

function reportFound(out: Output, facts: DiscoveredFacts, { captures, found }: FoundScheme): void {
  const { scheme, body } = found.fit
  const guess = found.idIsGuess ? { idIsGuess: true as const, next: 'capture one more' } : {}
  const code = toCode(found.fit)
  out.record({ ...facts, result: 'found', scheme, body, code, ...guess })
  out.data(code)
  out.say(`${out.tint('green', 'found')} ${printable(inWords(scheme))}`)
  for (const line of remarks(captures, found)) out.say(line)
}

function describe(scheme: Fit['scheme']): string {
  const sources = [
    ...(scheme.timestamp ? [`{timestamp} from ${scheme.timestamp.header}`] : []),
    ...(scheme.id ? [`{id} from ${scheme.id.header}`] : []),
  ]
  return [inWords(scheme), ...sources].join(', ')
}

function remarks(
  captures: readonly NamedCapture[],
  { fit: { scheme, body }, weaker, idIsGuess }: Extract<Found, { result: 'found' }>,
): readonly string[] {
  const one = captures.length === 1
  const plain = scheme.header === 'x-service-signature' && scheme.signed === '{body}'
  const isDefault = plain && scheme.key === 'utf8' && scheme.algorithm === 'sha256'
  return [
    ...(isDefault && body === 'exact'
      ? ['schemes.service(), the default, reads this too: you can leave the scheme out']
      : []),
    ...(body === 'exact' ? [] : ['the signed bytes are not those that arrived: see the comment']),
    ...(weaker.length > 0 ? ['weaker signatures are sent beside it, and not needed'] : []),
    ...(idIsGuess
      ? [
          `that ${scheme.id?.header} is the id is a guess: capture one more, of another event, before you use it (an id that never changes would make every event a duplicate)`,
        ]
      : []),
    ...(one && !idIsGuess ? ['proved by one capture; a second one would make it sure'] : []),
  ]
}
