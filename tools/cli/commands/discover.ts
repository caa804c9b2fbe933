// discover: finds the signature scheme of captured deliveries, to be pinned in code. A receiver
// never guesses a scheme.
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { inWords, presetToCode, toCode } from '../discover/paste.ts'
import { type Fit, type SearchResult, searchScheme } from '../discover/search.ts'
import { type ExitCode, exitCodes } from '../exit-code.ts'
import { addressFrom, repeated } from '../option-values.ts'
import { count, type Output, printable } from '../output.ts'
import { eventOf, type Preset, presetsFor, toDefinition } from '../presets.ts'
import { needSecrets, type SecretOptions, secretFileOption } from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'

interface DiscoverOptions extends SecretOptions {
  readonly url?: string
  readonly template?: readonly string[]
  readonly header?: string
}

export const discover = (session: Session) =>
  declare('discover', {
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
  const { url, header, template } = options
  const isFree = header === undefined && template === undefined
  const presets = isFree ? await presetsFor({ captures: exact, secrets, url }) : []
  const [preset] = presets
  const searched: Searched = { captures: exact, redacted, presets }
  if (preset && (presets.length === 1 || preset.vendor)) return reportPreset(out, searched, preset)
  const found = await searchScheme({
    ...{ captures: exact, secrets, url, header, signal },
    templates: template ?? [],
    onProgress: (tried) => out.progress(`${tried} schemes tried`),
  })
  if (found.result !== 'found' && preset) return reportPreset(out, searched, preset)
  report(out, searched, found)
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
  /** Presets that verify the captures. */
  readonly presets: readonly Preset[]
}

function commonOf({ captures, redacted, presets }: Searched) {
  const common = { type: 'discovered' as const, captures: captures.length, redacted }
  return { common, names: presets.map(({ name }) => name) }
}

function reportPreset(out: Output, searched: Searched, preset: Preset): ExitCode {
  const { common, names } = commonOf(searched)
  const { name, vendor, documents } = preset
  const code = presetToCode(preset)
  const found = { scheme: toDefinition(preset), body: 'exact', code, presets: names }
  out.record({ ...common, result: 'found', ...found })
  out.data(code)
  out.say(`${out.tint('green', 'found')} ${printable(names.join(', '))}`)
  for (const capture of vendor ? searched.captures : []) {
    const event = vendor && eventOf(vendor, capture)
    out.say(printable(`${capture.file}: ${event?.receivedName} reads as ${event?.name}`))
  }
  const made = vendor ? 'its events were' : 'it was'
  out.say(
    `${name} was read from ${documents[0]}; ${made} tried on deliveries made from documents: your captures prove the scheme`,
  )
  return exitCodes.ok
}

function report(out: Output, searched: Searched, found: SearchResult): void {
  const { common } = commonOf(searched)
  const { result } = found
  if (result === 'found') reportFound(out, searched, found)
  else if (result === 'ambiguous') {
    const { fits, headers } = found
    out.record({ ...common, result, fits, ...(headers && { headers }) })
    out.data('ambiguous')
    for (const { scheme } of fits) out.data(`  ${printable(describe(scheme))}`)
    out.say(
      headers
        ? `each of these headers is a signature of its own: choose one with --header ${printable(headers[0] ?? '')}`
        : `${fits.length} schemes fit equally well: capture one more, of another event and at another time`,
    )
  } else if (result === 'no-signature') {
    out.record({ ...common, result, files: found.files })
    out.data('no signature present')
    for (const file of found.files) out.data(`  ${printable(file)}`)
    out.say('no header of these captures could be a signature')
  } else {
    out.record({ ...common, result })
    out.data('no scheme fits')
    out.say(
      'no HMAC scheme of this package verifies these captures: check the secret, capture before any proxy, or pass what is signed with --template',
    )
  }
}

type FoundScheme = Extract<SearchResult, { result: 'found' }>

function reportFound(out: Output, searched: Searched, found: FoundScheme): void {
  const { common, names } = commonOf(searched)
  const { scheme, body } = found.fit
  const guess = found.idIsGuess ? { idIsGuess: true as const, next: 'capture one more' } : {}
  const code = toCode(found.fit)
  const shared = names.length > 0 && { presets: names }
  out.record({ ...common, result: 'found', scheme, body, code, ...guess, ...shared })
  out.data(code)
  out.say(`${out.tint('green', 'found')} ${printable(inWords(scheme))}`)
  if (names.length > 0) out.say(`presets with this scheme: ${names.join(', ')}`)
  for (const line of remarks(searched.captures.length, found)) out.say(line)
}

function describe(scheme: Fit['scheme']): string {
  const sources = [
    ...(scheme.timestamp ? [`{timestamp} from ${scheme.timestamp.header}`] : []),
    ...(scheme.id ? [`{id} from ${scheme.id.header}`] : []),
  ]
  return [inWords(scheme), ...sources].join(', ')
}

function remarks(captures: number, { fit, weaker, idIsGuess }: FoundScheme): readonly string[] {
  const { scheme, body } = fit
  const plain = scheme.header === 'x-service-signature' && scheme.signed === '{body}'
  const isDefault = plain && scheme.key === 'utf8' && scheme.algorithm === 'sha256'
  const id = scheme.id?.header
  const all: readonly (readonly [applies: boolean, remark: string])[] = [
    [isDefault && body === 'exact', 'this is the default scheme: you can leave the option out'],
    [body !== 'exact', 'the signed bytes differ from those that arrived: see the comment'],
    [weaker.length > 0, 'the sender also sends weaker signatures, which are not needed'],
    [
      idIsGuess,
      `${id} is only a guess for the id: capture another event before you use it (an id that never changes would make every event a duplicate)`,
    ],
    [captures === 1 && !idIsGuess, 'one capture verifies; a second one would confirm the scheme'],
  ]
  return all.flatMap(([applies, remark]) => (applies ? [remark] : []))
}
