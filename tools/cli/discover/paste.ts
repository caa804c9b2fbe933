// A found scheme as code to paste.
import { inspect } from 'node:util'
import type { SchemeDefinition } from '../../../src/index.ts'
import type { Preset } from '../schemes.ts'

export function toCode(scheme: SchemeDefinition): string {
  const isTimed = scheme.signed.includes('{timestamp}')
  const definition = isTimed ? { ...scheme, tolerance: 300 } : scheme
  const literal = inspect(definition, { compact: 1, breakLength: 100, depth: null })
  return [
    "import { createReceiver, schemes } from 'idv-webhooks'",
    '',
    'const receiver = createReceiver({',
    '  secret: process.env.WEBHOOK_SECRET,',
    `  scheme: schemes.define(${literal.replaceAll('\n', '\n  ')}),`,
    '})',
  ].join('\n')
}

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

export function inWords({ header, algorithm, encoding, key, signed }: SchemeDefinition): string {
  const how = encoding === 'any' ? 'base64 without padding' : encoding
  return `${header}: HMAC-${algorithm.toUpperCase()} in ${how} over ${JSON.stringify(signed)}, the secret read as ${key}`
}
