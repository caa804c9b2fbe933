// Lists every scheme worth trying on a delivery: what is signed, with which key, and where the time
// and the id come from.
import type { SchemeDefinition } from '../../../src/index.ts'
import type { RawHeaders } from '../deliver.ts'
import { type HeaderReading, type SharedScheme, timeHeaders } from './readings.ts'

const orders: readonly (readonly string[])[] = [
  ['{body}'],
  ['{timestamp}', '{body}'],
  ['{body}', '{timestamp}'],
  ['{id}', '{body}'],
  ['{body}', '{id}'],
  ['{id}', '{timestamp}', '{body}'],
  ['{timestamp}', '{id}', '{body}'],
  ['{url}', '{body}'],
  ['{body}', '{url}'],
  ['{timestamp}', '{url}', '{body}'],
  ['{url}', '{timestamp}', '{body}'],
  ['{id}', '{url}', '{body}'],
]
const separators = ['.', '', ':', '\n', '|', ',', '-', '_', ' ']

/** The signed templates that senders use, the simplest first. */
const templates: readonly string[] = [
  ...new Set([
    ...orders.flatMap((order) => separators.map((separator) => order.join(separator))),
    ...['v0', 'v1'].flatMap((version) =>
      orders
        .filter((order) => order.includes('{timestamp}') && order.at(-1) === '{body}')
        .flatMap((order) => ['.', ':'].map((separator) => [version, ...order].join(separator))),
    ),
  ]),
]

export interface CandidateOptions {
  readonly headers: RawHeaders
  readonly ids: readonly string[]
  readonly hasUrl: boolean
  readonly keys: readonly SchemeDefinition['key'][]
  /** Templates of the caller, tried first. */
  readonly templates: readonly string[]
}

export function* candidatesOf(
  reading: HeaderReading,
  options: CandidateOptions,
): Generator<SharedScheme> {
  const { headers, hasUrl, keys } = options
  const { timed, ...fixed } = reading
  const others = headers.filter(([name]) => name !== reading.header)
  for (const signed of new Set([...options.templates, ...templates])) {
    if (signed.includes('{url}') && !hasUrl) continue
    const signsTime = signed.includes('{timestamp}')
    if (timed && !signsTime) continue
    const times = signsTime && !timed ? timeHeaders(others) : [undefined]
    const ids = signed.includes('{id}')
      ? options.ids.filter((name) => name !== reading.header)
      : [undefined]
    for (const [time, id] of times.flatMap((one) => ids.map((other) => [one, other] as const))) {
      if (time !== undefined && time === id) continue
      for (const key of keys) {
        yield {
          name: 'discovered',
          ...fixed,
          key,
          signed,
          ...(time !== undefined && { timestamp: { header: time } }),
          ...(id !== undefined && { id: { header: id } }),
        }
      }
    }
  }
}
