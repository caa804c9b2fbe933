// discover: finds the signature scheme of captured deliveries, to be pinned in code. A receiver
// never guesses a scheme.
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { inWords, presetToCode, toCode } from '../discover/paste.ts'
import { type Fit, type SearchResult, searchScheme } from '../discover/search.ts'
import { type ExitCode, exitCodes } from '../exit-code.ts'
import { count, type Output, printable } from '../output.ts'
import { eventOf, type Preset, presetsFor, toDefinition } from '../presets.ts'
import type { DiscoveredCommon } from '../records/proving.ts'
import { repeated } from '../repeated.ts'
import { needSecrets, type SecretOptions, secretFileOption } from '../secrets.ts'
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
      'Searches for the one scheme that verifies every capture with your secret: the header and its format, the encoding, the key, and what is signed. Prints it as code to paste. Use unchanged captures (capture --raw), two or more of different events.',
      'If a preset of idv-webhooks/vendors verifies every capture, it prints that instead: a vendor whose events these are, or a sender with this scheme. --header and --template search without presets.',
      'Exits 0 if exactly one scheme fits, and 1 if several fit (capture one more), none fits, or no signature is present. An id that was seen with one event only is reported as a guess.',
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
      'the address that the sender used, for schemes that sign it',
      addressFrom,
    )
    .option('--template <text>', 'another template of what is signed; repeatable', repeated)
    .option('--header <name>', 'the signature header to use, if there are several')
    .addOption(secretFileOption())
    .action(
      act<DiscoverOptions>(session, (options, paths) => discoverScheme(session, options, paths)),
    )

/** Searches for the scheme of captures and reports it. */
export async function discoverScheme(
  session: Session,
  options: DiscoverOptions,
  paths: readonly string[],
): Promise<ExitCode> {
  const { out, signal } = session
  const captures = await readCaptures(session, paths)
  const exact = captures.filter(({ redacted }) => !redacted)
  const redacted = captures.length - exact.length
  if (redacted > 0) out.say(redactedWarning(redacted))
  if (exact.length === 0) {
    out.record({ type: 'discovered', result: 'redacted', captures: redacted, redacted })
    return exitCodes.failed
  }
  const secrets = await needSecrets(session, options)
  const searched = { captures: exact, redacted }
  const isFree = options.header === undefined && options.template === undefined
  const fitting = isFree ? await presetsFor({ captures: exact, secrets, url: options.url }) : []
  if (fitting[0] && (fitting.length === 1 || fitting[0].vendor)) {
    reportPreset(session, searched, fitting)
    return exitCodes.ok
  }
  const found = await searchScheme({
    captures: exact,
    secrets,
    url: options.url,
    templates: options.template ?? [],
    header: options.header,
    signal,
    onProgress: (tried) => out.progress(`${tried} schemes tried`),
  })
  if (found.result !== 'found' && fitting.length > 0) {
    reportPreset(session, searched, fitting)
    return exitCodes.ok
  }
  report(session, { ...searched, presets: fitting }, found)
  return found.result === 'found' ? exitCodes.ok : exitCodes.failed
}

/** A redacted capture has other bytes and our signature, so it says nothing about the sender. */
function redactedWarning(many: number): string {
  const which = count(many, 'redacted capture', 'redacted captures')
  return `${which} skipped: masking changed the bytes, so the sender's scheme cannot be found; record with capture --raw`
}

interface Searched {
  readonly captures: readonly NamedCapture[]
  readonly redacted: number
  /** Presets that share the scheme. */
  readonly presets?: readonly Preset[]
}

const namesOf = (presets: readonly Preset[]) => presets.map(({ name }) => name)

function reportPreset(
  { out }: Session,
  { captures, redacted }: Searched,
  presets: readonly Preset[],
): void {
  const [preset] = presets
  if (!preset) return
  const { name, vendor, documents } = preset
  const code = presetToCode(preset)
  const common = { type: 'discovered' as const, captures: captures.length, redacted }
  const found = { scheme: toDefinition(preset), body: 'exact', code, presets: namesOf(presets) }
  out.record({ ...common, result: 'found', ...found })
  out.data(code)
  out.say(`${out.tint('green', 'found')} ${printable(namesOf(presets).join(', '))}`)
  for (const capture of vendor ? captures : []) {
    const event = vendor && eventOf(vendor, capture)
    const read = `${capture.file}: ${event?.receivedName} reads as ${event?.name}`
    out.say(printable(read))
  }
  const made = vendor ? 'its events were' : 'it was'
  out.say(
    `${name} was read from ${documents[0]}; ${made} tried on deliveries made from documents: your captures prove the scheme`,
  )
}

function report(
  { out }: Session,
  { captures, redacted, presets = [] }: Searched,
  found: SearchResult,
): void {
  const searched = { type: 'discovered' as const, captures: captures.length, redacted }
  const { result } = found
  switch (result) {
    case 'found':
      reportFound(out, searched, { captures, found, presets: namesOf(presets) })
      return
    case 'ambiguous': {
      const fits = found.fits.map(({ scheme, body }) => ({ scheme, body }))
      out.record({ ...searched, result, fits, ...(found.headers && { headers: found.headers }) })
      out.data('ambiguous')
      for (const { scheme } of fits) out.data(`  ${printable(describe(scheme))}`)
      out.say(
        found.headers
          ? `each of these headers is a signature of its own: choose one with --header ${printable(found.headers[0] ?? '')}`
          : `${fits.length} schemes fit equally well: capture one more, of another event and at another time`,
      )
      return
    }
    case 'no-signature':
      out.record({ ...searched, result, files: found.files })
      out.data('no signature present')
      for (const file of found.files) out.data(`  ${printable(file)}`)
      out.say('no header of these captures could be a signature')
      return
    case 'no-match':
      out.record({ ...searched, result })
      out.data('no scheme fits')
      out.say(
        'no HMAC scheme of this package verifies these captures: check the secret, capture before any proxy, or pass what is signed with --template',
      )
  }
}

interface FoundScheme {
  readonly captures: readonly NamedCapture[]
  readonly found: Extract<SearchResult, { result: 'found' }>
  readonly presets: readonly string[]
}

function reportFound(
  out: Output,
  searched: DiscoveredCommon,
  { captures, found, presets }: FoundScheme,
): void {
  const { scheme, body } = found.fit
  const guess = found.idIsGuess ? { idIsGuess: true as const, next: 'capture one more' } : {}
  const code = toCode(found.fit)
  const shared = presets.length > 0 && { presets }
  out.record({ ...searched, result: 'found', scheme, body, code, ...guess, ...shared })
  out.data(code)
  out.say(`${out.tint('green', 'found')} ${printable(inWords(scheme))}`)
  if (presets.length > 0) out.say(`presets with this scheme: ${presets.join(', ')}`)
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
  { fit: { scheme, body }, weaker, idIsGuess }: Extract<SearchResult, { result: 'found' }>,
): readonly string[] {
  const one = captures.length === 1
  const plain = scheme.header === 'x-service-signature' && scheme.signed === '{body}'
  const isDefault = plain && scheme.key === 'utf8' && scheme.algorithm === 'sha256'
  return [
    ...(isDefault && body === 'exact'
      ? ['this is the default scheme: you can leave the option out']
      : []),
    ...(body === 'exact'
      ? []
      : ['the signed bytes differ from those that arrived: see the comment']),
    ...(weaker.length > 0 ? ['the sender also sends weaker signatures, which are not needed'] : []),
    ...(idIsGuess
      ? [
          `${scheme.id?.header} is only a guess for the id: capture another event before you use it (an id that never changes would make every event a duplicate)`,
        ]
      : []),
    ...(one && !idIsGuess ? ['one capture verifies; a second one would confirm the scheme'] : []),
  ]
}
