// discover: finds the signature scheme of captured deliveries, to be pinned in code. A receiver
// never guesses a scheme.
import { inspect } from 'node:util'
import type { SchemeDefinition } from '../../../src/index.ts'
import { readCaptures } from '../capture-files.ts'
import { eventOf, presetsFor, toDefinition } from '../discover/presets.ts'
import { type FoundScheme, type SearchResult, searchScheme } from '../discover/search.ts'
import { exitCodes } from '../exit-code.ts'
import { addressFrom, repeated } from '../option-values.ts'
import { count, type Output, printable } from '../output.ts'
import type { Preset } from '../schemes.ts'
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
      'discover private-captures/',
      'discover a.json b.json --json > scheme.json && idv-webhooks verify a.json --scheme scheme.json',
      "discover a.json --template '{id}/{timestamp}/{body}'",
    ],
  })
    .argument('<captures...>', 'capture files, folders of them, or - for stdin')
    .option(
      '--url <url>',
      'the address that the sender used, for schemes that sign it',
      addressFrom,
    )
    .option('--template <text>', 'another template of the signed text; repeatable', repeated)
    .option('--header <name>', 'the signature header to use, if there are several')
    .addOption(secretFileOption())
    .action(act(session, run))

async function run(session: Session, options: DiscoverOptions, paths: readonly string[]) {
  const { out, signal } = session
  const all = await readCaptures(session, paths)
  const captures = all.filter(({ redacted }) => !redacted)
  const redacted = all.length - captures.length
  if (redacted > 0) {
    const which = count(redacted, 'redacted capture')
    const why = "masking changed the bytes, so the sender's scheme cannot be found"
    out.say(`${which} skipped: ${why}; record with capture --raw`)
  }
  const common = { type: 'discovered', captures: captures.length || redacted, redacted } as const
  if (captures.length === 0) {
    out.record({ ...common, result: 'redacted' })
    return exitCodes.failed
  }
  const secrets = await needSecrets(session, options)
  const { url, header, template: templates = [] } = options
  const trial = { captures, secrets, url }
  const isFree = header === undefined && templates.length === 0
  const presets = isFree ? await presetsFor(trial) : []
  const [preset] = presets
  const names = presets.map(({ name }) => name)
  const onProgress = (tried: number) => out.progress(`${tried} schemes tried`)
  const found =
    preset && (presets.length === 1 || preset.vendor)
      ? undefined
      : await searchScheme({ ...trial, header, signal, templates, onProgress })
  if (found?.result === 'found') {
    const { scheme, idIsGuess } = found
    const code = toCode(scheme)
    const guess = idIsGuess && ({ idIsGuess, next: 'capture one more' } as const)
    const shared = names.length > 0 && { presets: names }
    out.record({ ...common, result: 'found', scheme, body: 'exact', code, ...guess, ...shared })
    out.data(code)
    out.say(`${out.tint('green', 'found')} ${printable(inWords(scheme))}`)
    if (shared) out.say(`presets with this scheme: ${names.join(', ')}`)
    for (const line of remarks(captures.length, found)) out.say(line)
  } else if (preset) {
    const code = presetToCode(preset)
    const scheme = toDefinition(preset)
    out.record({ ...common, result: 'found', scheme, body: 'exact', code, presets: names })
    out.data(code)
    out.say(`${out.tint('green', 'found')} ${printable(names.join(', '))}`)
    const { vendor } = preset
    for (const capture of vendor ? captures : []) {
      const event = vendor && eventOf(vendor, capture)
      out.say(printable(`${capture.file}: ${event?.receivedName} reads as ${event?.name}`))
    }
  } else {
    if (found) out.record({ ...common, ...found })
    reportFailure(out, found)
    return exitCodes.failed
  }
  return exitCodes.ok
}

function reportFailure(out: Output, found: SearchResult | undefined): void {
  if (found?.result === 'ambiguous') {
    const { fits, headers } = found
    out.data('ambiguous')
    for (const { scheme } of fits) out.data(`  ${printable(describe(scheme))}`)
    out.say(
      headers
        ? `each of these headers is a signature of its own: choose one with --header ${printable(headers[0] ?? '')}`
        : `${fits.length} schemes fit equally well: capture one more, of another event and at another time`,
    )
  } else if (found?.result === 'no-signature') {
    out.data('no signature present')
    for (const file of found.files) out.data(`  ${printable(file)}`)
    out.say('no header of these captures could be a signature')
  } else {
    out.data('no scheme fits')
    out.say(
      'no HMAC scheme of this package verifies these captures: check the secret, capture before any proxy, or pass what is signed with --template',
    )
  }
}

function describe(scheme: SchemeDefinition): string {
  const { timestamp, id } = scheme
  const time = timestamp?.header && `{timestamp} from ${timestamp.header}`
  return [inWords(scheme), time, id && `{id} from ${id.header}`].filter(Boolean).join(', ')
}

function remarks(captures: number, found: FoundScheme): readonly string[] {
  const { scheme, hasWeaker, idIsGuess } = found
  const plain = scheme.header === 'x-service-signature' && scheme.signed === '{body}'
  const isDefault = plain && scheme.key === 'utf8' && scheme.algorithm === 'sha256'
  const all: readonly (readonly [applies: boolean, remark: string])[] = [
    [isDefault, 'this is the default scheme: you can leave the option out'],
    [hasWeaker, 'the sender also sends weaker signatures, which are not needed'],
    [
      idIsGuess === true,
      `${scheme.id?.header} is only a guess for the id: capture another event before you use it (an id that never changes would make every event a duplicate)`,
    ],
    [captures === 1 && !idIsGuess, 'one capture verifies; a second one would confirm the scheme'],
  ]
  return all.flatMap(([applies, remark]) => (applies ? [remark] : []))
}

function toCode(scheme: SchemeDefinition): string {
  const isTimed = scheme.signed.includes('{timestamp}')
  const definition = isTimed ? { ...scheme, tolerance: 300 } : scheme
  const literal = inspect(definition, { compact: 1, breakLength: 100, depth: null })
  const option = `scheme: schemes.define(${literal.replaceAll('\n', '\n  ')})`
  return receiverCode(["import { createReceiver, schemes } from 'idv-webhooks'"], [option])
}

function presetToCode({ name, scheme: { authenticity }, vendor }: Preset): string {
  const imports = [
    "import { createReceiver } from 'idv-webhooks'",
    `import { ${vendor ? 'vendors' : 'senders'} } from 'idv-webhooks/vendors'`,
  ]
  const lower = authenticity === 'signature' ? [] : [`authenticity: '${authenticity}'`]
  return receiverCode(imports, [`${vendor ? 'vendor' : 'scheme'}: ${name}`, ...lower])
}

function receiverCode(imports: readonly string[], options: readonly string[]): string {
  const lines = ['secret: process.env.WEBHOOK_SECRET', ...options].map((one) => `  ${one},`)
  return [...imports, '', 'const receiver = createReceiver({', ...lines, '})'].join('\n')
}

function inWords({ header, algorithm, encoding, key, signed }: SchemeDefinition): string {
  const how = encoding === 'any' ? 'base64 without padding' : encoding
  return `${header}: HMAC-${algorithm.toUpperCase()} in ${how} over ${JSON.stringify(signed)}, the secret read as ${key}`
}
