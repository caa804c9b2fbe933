// A found scheme as code to paste.
import type { SchemeDefinition } from '../../../src/index.ts'
import type { Preset } from '../presets.ts'
import type { Fit } from './search.ts'

/** The signed bytes, if they differ from those that arrive. */
const respelled: Readonly<Record<Exclude<Fit['body'], 'exact'>, string>> = {
  'without-newline': 'the body without its trailing line break',
  'with-newline': 'the body with a trailing line break',
  minified: 'JSON.stringify(JSON.parse(text))',
  'minified-with-newline': 'JSON.stringify(JSON.parse(text)) with a trailing line break',
  sorted: 'JSON.stringify(JSON.parse(text)) with the keys of every object sorted',
  'sorted-with-newline': 'JSON with the keys of every object sorted, and a trailing line break',
  spaced: "the JSON with ', ' and ': ', as Python's json.dumps writes it",
  indented: 'JSON.stringify(JSON.parse(text), null, 2)',
}

/** Code that creates a receiver with the scheme. */
export function toCode({ scheme, body }: Fit): string {
  const isTimed = scheme.signed.includes('{timestamp}')
  const definition = isTimed ? { ...scheme, tolerance: 300 } : scheme
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
    `  scheme: schemes.define(${literal(definition, '  ')}),`,
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

function literal(value: unknown, indent: string): string {
  if (typeof value === 'string') return quoted(value)
  if (typeof value !== 'object' || value === null) return String(value)
  const inner = `${indent}  `
  const lines = Object.entries(value).map(([key, one]) => {
    const short = typeof one === 'object' ? inline(one) : literal(one, inner)
    return `${inner}${key}: ${short},`
  })
  return `{\n${lines.join('\n')}\n${indent}}`
}

function inline(value: unknown): string {
  if (typeof value !== 'object' || value === null) return literal(value, '')
  const parts = Object.entries(value).map(([key, one]) => `${key}: ${inline(one)}`)
  return `{ ${parts.join(', ')} }`
}

function quoted(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped}'`
}
