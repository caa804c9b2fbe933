// Senders that sign in every way a scheme can be written: grammar × encoding × template × key.
import { type SchemeDefinition, schemes, sign } from 'idv-webhooks'
import { readCapture } from 'idv-webhooks/testing'
import type { NamedCapture } from '../../../tools/cli/capture-files.ts'

/** A sender: its scheme, and the secret that it shares with the receiver. */
export interface Sender {
  readonly name: string
  readonly scheme: SchemeDefinition
  readonly secret: string
}

const grammars: readonly SchemeDefinition['grammar'][] = [
  'plain',
  { prefix: 'sha256=' },
  { prefix: 'v0=' },
  { pairs: { signature: 'v1', timestamp: 't' } },
  { list: { prefix: 'v1,' } },
]
const encodings = ['hex', 'base64', 'base64url'] as const
const plainTemplates = ['{body}', '{id}.{body}', '{url}{body}']
const timedTemplates = ['{timestamp}.{body}', 'v0:{timestamp}:{body}', '{id}.{timestamp}.{body}']

const secrets = {
  utf8: 'a secret of words',
  base64: 'bm90IHNvIHNlY3JldCBhIHNlY3JldA==',
  hex: '00112233445566778899aabbccddeeff',
  whsec: 'whsec_bm90IHNvIHNlY3JldCBhIHNlY3JldA==',
} as const
const algorithms = ['sha256', 'sha512', 'sha1'] as const

/** Every sender, more than forty; key and algorithm change from one to the next. */
export const senders: readonly Sender[] = grammars.flatMap((grammar) =>
  encodings.flatMap((encoding) => {
    const paired = typeof grammar === 'object' && 'pairs' in grammar
    const templates = paired ? timedTemplates : [...plainTemplates, ...timedTemplates]
    return templates.map((signed, at): Sender => {
      const key = (Object.keys(secrets) as (keyof typeof secrets)[])[at % 4] ?? 'utf8'
      const timed = signed.includes('{timestamp}') && !paired
      const scheme: SchemeDefinition = {
        name: 'generated',
        header: 'X-Vendor-Signature',
        algorithm: algorithms[at % 3] ?? 'sha256',
        key,
        encoding,
        grammar,
        signed,
        ...(timed && { timestamp: { header: 'X-Vendor-Time' } }),
        ...(signed.includes('{id}') && { id: { header: 'X-Vendor-Id' } }),
      }
      const name = `${JSON.stringify(grammar)} ${encoding} ${signed} ${key} ${scheme.algorithm}`
      return { name, scheme, secret: secrets[key] }
    })
  }),
)

/** A sender's delivery, captured as it arrived. */
export interface SentOptions {
  readonly body?: string
  /** The body whose bytes were signed, where others arrive. */
  readonly signedBody?: string
  readonly at?: string
  readonly id?: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly url?: string
}

/** A raw capture of one delivery. */
export async function captured(
  { scheme, secret }: Pick<Sender, 'scheme' | 'secret'>,
  options: SentOptions = {},
): Promise<NamedCapture> {
  const { at = '2026-03-01T10:00:00Z', url = 'https://app.example.com/hooks' } = options
  const body = options.body ?? '{"event":"verification.approved","data":{"id":"ver_1"}}'
  const signed = await sign(options.signedBody ?? body, {
    secret,
    scheme: schemes.define(scheme),
    now: () => new Date(at),
    id: options.id ?? 'dlv_81c2',
    url,
  })
  const source = JSON.stringify({
    version: 1,
    receivedAt: at,
    url,
    headers: [
      ['Host', 'app.example.com'],
      ['Content-Type', 'application/json'],
      ['Content-Length', '1234567890'],
      ['X-Request-Trace', '7f3d-11'],
      ...(options.headers ?? []),
      ...Object.entries(signed),
    ],
    body: Buffer.from(body).toString('base64'),
  })
  return { ...readCapture(source), file: 'a.json' }
}
