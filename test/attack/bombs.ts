// Bodies with made-up signatures, shaped to make their diagnosis expensive: of 1 MiB, which is the
// most that is taken, and of 60 KB, for a diagnosis may look at small bodies more closely.
import { randomBytes } from 'node:crypto'
import { exchange } from './exchange.ts'
import type { Target, TargetOptions } from './target.ts'

const mebibyte = 1_048_576
const small = 60_000
/** JSON deeper than 512 levels is not parsed. */
const depth = 510

export interface Bomb {
  readonly name: string
  readonly scheme?: TargetOptions['scheme']
  readonly body: () => string
  /** Signatures, or groups of time and signature, in the header. */
  readonly claims?: number
  /** Sent at the same time. */
  readonly times?: number
}

/** `open`, then as many copies of `item` as there is room for, then `close`. */
function filled(open: string, item: string, close: string, size = mebibyte): string {
  const room = size - Buffer.byteLength(open) - Buffer.byteLength(close)
  return open + item.repeat(Math.floor(room / Buffer.byteLength(item))) + close
}

const deep = (item: string, size = mebibyte) =>
  filled(`${'['.repeat(depth)}1`, item, ']'.repeat(depth), size)
const nested = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

export const bombs: readonly Bomb[] = [
  { name: 'text that is not JSON', body: () => filled('', 'x', '') },
  { name: 'a string of slashes', body: () => filled('"', '/', '"') },
  { name: 'a deep array', body: () => deep(',1') },
  { name: 'a deep array, 16 signatures', body: () => deep(',1'), claims: 16 },
  // Three times and signatures are the most that is read: what has more is malformed.
  {
    name: 'a deep array, 3 times and signatures',
    body: () => deep(',1'),
    claims: 3,
    scheme: 'timestamped',
  },
  {
    name: 'a deep array, 16 times and signatures',
    body: () => deep(',1'),
    claims: 16,
    scheme: 'timestamped',
  },
  { name: 'a deep array with a CJK letter and a slash', body: () => deep(',"/字"') },
  {
    name: 'the same, 3 times and signatures',
    body: () => deep(',"/字"'),
    claims: 3,
    scheme: 'timestamped',
  },
  { name: 'empty objects', body: () => filled('[{}', ',{}', ']') },
  { name: 'deep objects', body: () => filled(`[${nested(500)}`, `,${nested(500)}`, ']') },
  { name: 'escaped letters', body: () => filled('"', '\\u0041', '"') },
  { name: 'a number of a million digits', body: () => filled('', '1', '') },
  { name: 'line breaks', body: () => filled('', '\n', '') },
  { name: 'white space and line breaks', body: () => filled('{"a":1', ' \r\n', '}') },
  { name: 'small: a deep array', body: () => deep(',1', small), claims: 3, scheme: 'timestamped' },
  {
    name: 'small: a deep array with a CJK letter and a slash',
    body: () => deep(',"/字"', small),
    claims: 3,
    scheme: 'timestamped',
  },
  { name: 'small: slashes', body: () => filled('"', '/', '"', small), claims: 16 },
  {
    name: 'small: flat, many keys',
    body: () => filled('{"a":1', ',"é/":1.0', '}', small),
    claims: 3,
    scheme: 'timestamped',
  },
  {
    name: 'small: keys in the wrong order',
    body: () => `{${Array.from({ length: 5_000 }, (_, at) => `"k${9_999 - at}":1`).join(',')}}`,
    claims: 3,
    scheme: 'timestamped',
  },
  {
    name: 'small: ten deep arrays at once',
    body: () => deep(',"/字"', small),
    claims: 3,
    scheme: 'timestamped',
    times: 10,
  },
  { name: 'ten deep arrays at once', body: () => deep(',"/字"'), claims: 16, times: 10 },
]

/** A signature header that is well formed and proves nothing. */
export function madeUp(scheme: TargetOptions['scheme'], claims = 1): string {
  const now = Math.floor(Date.now() / 1_000)
  const one = (at: number) => {
    const signature = randomBytes(32).toString('hex')
    return scheme === 'timestamped' ? `t=${now - at},v1=${signature}` : signature
  }
  return Array.from({ length: claims }, (_, at) => one(at)).join(',')
}

/** Sends a bomb and resolves with its statuses when all are answered. */
export async function explode(target: Target, bomb: Bomb): Promise<number[]> {
  const body = bomb.body()
  const sent = Array.from({ length: bomb.times ?? 1 }, async () => {
    const headers = {
      'content-type': 'application/json',
      'x-service-signature': madeUp(bomb.scheme, bomb.claims),
    }
    const { status } = await exchange(target.url, { method: 'POST', headers, body })
    return status
  })
  return Promise.all(sent)
}
