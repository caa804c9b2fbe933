// A found scheme as code to paste.
import { inspect } from 'node:util'
import type { SchemeDefinition } from '../../../src/index.ts'
import type { Preset } from '../schemes.ts'
import type { Fit } from './search.ts'

/** The signed bytes, if they differ from those that arrive. */
const respelled: Readonly<Record<Exclude<Fit['body'], 'exact'>, string>> = {
  'without-newline': 'the body without its trailing line break',
  'with-newline': 'the body with a trailing line break',
  minified: 'JSON.stringify(JSON.parse(text))',
  spaced: "the JSON with ', ' and ': ', as Python's json.dumps writes it",
  indented: 'JSON.stringify(JSON.parse(text), null, 2)',
}

/** Code that creates a receiver with the scheme. */
export function toCode({ scheme, body }: Pick<Fit, 'scheme' | 'body'>): string {
  const isTimed = scheme.signed.includes('{timestamp}')
  const definition = isTimed ? { ...scheme, tolerance: 300 } : scheme
  const literal = inspect(definition, { compact: 1, breakLength: 100, depth: null })
  const note =
    body === 'exact'
      ? []
      : [
          '// Careful: the bytes that arrived are not the bytes that were signed, which are',
          `// ${respelled[body]}.`,
          '// Find out what changes them on their way. If the sender itself signs another spelling,',
          '// convert the body before verify(), and parse only what was verified.',
        ]
  return [
    "import { createReceiver, schemes } from 'idv-webhooks'",
    '',
    ...note,
    'const receiver = createReceiver({',
    '  secret: process.env.WEBHOOK_SECRET,',
    `  scheme: schemes.define(${literal.replaceAll('\n', '\n  ')}),`,
    '})',
  ].join('\n')
}

/** Code that creates a receiver with a preset. */
export function presetToCode({ name, scheme, vendor }: Preset): string {
  const { authenticity } = scheme
  return [
    "import { createReceiver } from 'idv-webhooks'",
    `import { ${vendor ? 'vendors' : 'senders'} } from 'idv-webhooks/vendors'`,
    '',
    'const receiver = createReceiver({',
    '  secret: process.env.WEBHOOK_SECRET,',
    `  ${vendor ? 'vendor' : 'scheme'}: ${name},`,
    ...(authenticity === 'signature' ? [] : [`  authenticity: '${authenticity}',`]),
    '})',
  ].join('\n')
}

/** Describes a scheme in one line. */
export function inWords({ header, algorithm, encoding, key, signed }: SchemeDefinition): string {
  const how = encoding === 'any' ? 'base64 without padding' : encoding
  return `${header}: HMAC-${algorithm.toUpperCase()} in ${how} over ${JSON.stringify(signed)}, the secret read as ${key}`
}
