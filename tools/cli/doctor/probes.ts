// The probes: deliveries as awkward as real ones, and what a correct receiver does with each. A
// receiver of this package neither keeps nor handles their event, which it knows.
import type { Vendor } from '../../../src/vendors/index.ts'
import { override } from '../override.ts'

/** The guarantee that a probe tests. */
export type Guarantee = 'takes' | 'exact bytes' | 'refuses' | 'bounded'

/** A probe: what is sent, and which response is right. */
export interface Probe {
  readonly name: string
  readonly guarantee: Guarantee
  readonly body: Uint8Array
  /** The id of the delivery, for schemes that sign one; a new one by default. */
  readonly id?: string
  /** How the delivery is signed: over its bytes, not at all, or wrongly. */
  readonly signature: 'right' | 'none' | 'wrong' | 'malformed' | 'twice' | 'stale'
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sends the body in this number of pieces, without a Content-Length. */
  readonly pieces?: number
  /** An inbox that does not know probes keeps it, because it verifies. */
  readonly leaves: boolean
  /** Whether a status meets the guarantee. */
  readonly good: (status: number) => boolean
}

/** The event name of all probes. */
export const probeEvent = 'idv-webhooks.doctor'

const taken = (status: number) => status >= 200 && status < 300
const refused = (status: number) => status >= 400 && status < 500
const utf8 = (text: string) => new TextEncoder().encode(text)

/** The event of a probe with an id, in the shape that the receiver reads. */
export type Frame = (id: string) => object

/** The service's shape. */
export const serviceFrame: Frame = (id) => ({ id, event: probeEvent, data: { id: 'doctor' } })

/** A vendor's shape: only what its preset reads, so that no rule takes a probe for a decision. */
export function vendorFrame({ reading }: Vendor): Frame {
  const [name, subject, event] = [reading.name[0], reading.subject[0], reading.id?.[0]]
  return (id) => {
    const sets = [`${subject}=doctor`, ...(event === undefined ? [] : [`${event}=${id}`])]
    return override({}, { sets: [...sets, `${name}=${probeEvent}`], remove: [] }) as object
  }
}

export const allSpellings = 'a genuine delivery with every awkward spelling'

/**
 * Every genuine spelling in one delivery, with the same bytes and id in every run: to an inbox that
 * has it, it is a duplicate.
 */
export function makeAllSpellings(frame: Frame): Probe {
  const id = 'idv-webhooks-doctor'
  const rest = [
    ',"note":"caf\\u00e9 café a\\/b $& $1 $$ $`","twice":1,"twice":2,"n":1.0,"m":1e3,',
    '"digits":12345678901234567890,"10":1,"9":2,',
    `"filler":"${'x'.repeat(256 * 1024)}"`,
  ].join('')
  return {
    name: allSpellings,
    guarantee: 'exact bytes',
    signature: 'right',
    leaves: true,
    good: taken,
    id,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    pieces: 3,
    body: utf8(`${oddly(extended(frame(id), rest))}\n`),
  }
}

const extended = (json: object, rest: string) => `${JSON.stringify(json).slice(0, -1)}${rest}}`

/** With white space that no serializer writes. */
const oddly = (json: string) => `{ "spaces" :\t[ 1 ,\r\n 2 ] ,${json.slice(1)}`

/** A probe before its defaults are set. */
type Sketch = Omit<Probe, 'signature' | 'good' | 'leaves'> &
  Partial<Pick<Probe, 'signature' | 'good' | 'leaves'>>

/** `id` gives each probe an event id of its own, `gzip` compresses. */
interface ProbeOptions {
  readonly frame: Frame
  readonly id: (probe: string) => string
  readonly gzip: (body: Uint8Array) => Uint8Array
  readonly timed: boolean
}

/** Creates all probes. */
export function makeProbes(options: ProbeOptions): readonly Probe[] {
  const { frame, id, gzip, timed } = options
  const json = (name: string, rest = '') => extended(frame(id(name)), rest)
  const sketches: readonly Sketch[] = [
    ...taking(json),
    ...exact(json),
    ...refusing(json, { gzip, id }),
    ...(timed ? [stale(json)] : []),
  ]
  return sketches.map((sketch) => ({
    signature: 'right',
    leaves: (sketch.signature ?? 'right') === 'right',
    good: sketch.guarantee === 'refuses' ? refused : taken,
    ...sketch,
  }))
}

type Json = (name: string, rest?: string) => string

function taking(json: Json): readonly Sketch[] {
  const guarantee = 'takes'
  return [
    { name: 'a genuine delivery', guarantee, body: utf8(json('genuine')) },
    {
      name: 'a charset in the content type',
      guarantee,
      body: utf8(json('charset')),
      headers: { 'content-type': 'application/json; charset=utf-8' },
    },
    {
      name: 'a body without a length (chunked)',
      guarantee,
      body: utf8(json('chunked')),
      pieces: 3,
    },
    {
      name: 'a body of 256 KiB',
      guarantee,
      body: utf8(json('large', `,"filler":"${'x'.repeat(256 * 1024)}"`)),
    },
  ]
}

function exact(json: Json): readonly Sketch[] {
  const spelled: readonly (readonly [name: string, body: string])[] = [
    ['odd white space', oddly(json('space'))],
    ['an escaped letter (\\u00e9)', json('escape', ',"note":"caf\\u00e9"')],
    ['a letter beyond ASCII (é)', json('letter', ',"note":"café"')],
    ['a repeated key', json('twice', ',"note":1,"note":2')],
    ['numbers as they are spelled (1.0, 1e3)', json('number', ',"n":1.0,"m":1e3')],
    ['a number of 20 digits', json('digits', ',"n":12345678901234567890')],
    ['an escaped slash', json('slash', ',"note":"a\\/b"')],
    ['keys like integers', json('keys', ',"10":1,"9":2')],
    ['replacement patterns ($&)', json('pattern', ',"note":"$& $1 $$ $`"')],
    ['a line break at the end', `${json('newline')}\n`],
    ['a byte order mark', `\uFEFF${json('mark')}`],
  ]
  return spelled.map(([name, body]) => ({ name, guarantee: 'exact bytes', body: utf8(body) }))
}

function refusing(json: Json, { gzip, id }: Pick<ProbeOptions, 'gzip' | 'id'>): readonly Sketch[] {
  const guarantee = 'refuses'
  return [
    { name: 'no signature', guarantee, body: utf8(json('unsigned')), signature: 'none' },
    { name: 'a wrong signature', guarantee, body: utf8(json('wrong')), signature: 'wrong' },
    { name: 'a malformed signature', guarantee, body: utf8(json('bad')), signature: 'malformed' },
    { name: 'two signature headers', guarantee, body: utf8(json('two')), signature: 'twice' },
    {
      name: 'a compressed body',
      guarantee,
      body: gzip(utf8(json('gzip'))),
      headers: { 'content-encoding': 'gzip' },
      leaves: false,
    },
    ...unreadable(id),
    {
      name: 'another method (GET)',
      guarantee,
      body: new Uint8Array(),
      signature: 'none',
      method: 'GET',
    },
    {
      name: 'a body of 12 MiB',
      guarantee: 'bounded',
      body: utf8(json('huge', `,"filler":"${'x'.repeat(12 * 1024 * 1024)}"`)),
      leaves: false,
      // Closing the connection is a refusal as well.
      good: (status) => status === 413 || status === 0,
    },
  ]
}

/** How a receiver tells a probe that it cannot parse; others keep it as a dead letter. */
const unreadableStart = `{"event":"${probeEvent}"`

/** Bodies that are proved, and cannot be read. */
function unreadable(id: ProbeOptions['id']): readonly Sketch[] {
  return [
    {
      name: 'a body that is not UTF-8',
      guarantee: 'refuses',
      body: Uint8Array.from([
        ...utf8(`${unreadableStart},"id":"${id('octets')}","note":"`),
        0xff,
        0xfe,
        ...utf8('"}'),
      ]),
      good: (status) => status === 400 || status === 202,
    },
    {
      name: 'a body that is not JSON',
      guarantee: 'refuses',
      body: utf8(`${unreadableStart},"id":"${id('json')}","data":`),
      good: (status) => status === 400 || status === 202,
    },
  ]
}

function stale(json: Json): Sketch {
  return {
    name: 'a signature of an hour ago',
    guarantee: 'refuses',
    body: utf8(json('stale')),
    signature: 'stale',
  }
}
