// An `envelope` that is a function: it may read headers and the address, which nobody has signed, so
// an id that depends on them tells no duplicates.
import { ignoreRejection } from '../host/promises.ts'
import { idOf } from './json-paths.ts'

/** The parts of an event that the envelope states. */
export interface EnvelopeReading {
  readonly name: string
  readonly id?: string | undefined
  readonly occurredAt?: string | number | Date | undefined
  readonly data: unknown
  /** The sender's own name of it, where `name` is not that. */
  readonly receivedName?: string | undefined
  /** The entity, where the name does not determine it. */
  readonly entity?: { readonly type: string; readonly id: string } | undefined
}

/** The second argument of an envelope function. */
export interface EnvelopeContext {
  readonly headers: Headers
  /** The address that it was sent to, where the adapter knows it. */
  readonly url: string | undefined
}

/** Headers and address of the delivery. */
export interface EnvelopeArrival {
  readonly headers: Iterable<readonly [string, string]>
  readonly url?: string | undefined
  /** The id that the scheme signs, where it signs one. */
  readonly signedId?: string | undefined
}

/** A function from the JSON body to its parts. */
export type EnvelopeFunction = (body: unknown, context: EnvelopeContext) => EnvelopeReading

/** Calls it; undefined where it throws. */
export function readingOf(
  option: EnvelopeFunction,
  body: unknown,
  context: EnvelopeContext,
): EnvelopeReading | undefined {
  try {
    const reading = option(body, context)
    ignoreRejection(reading)
    return reading
  } catch {
    return undefined
  }
}

/** Stands for what nobody has signed. */
const placeholder = 'placeholder'

interface Called {
  readonly option: EnvelopeFunction
  /** Makes another copy of the body. */
  readonly copy: () => unknown
  readonly arrival: EnvelopeArrival
}

/**
 * Makes copies of a JSON body as it is now: a function may change what it reads. Through text, which
 * takes a fifth of the time of `structuredClone` where a body has many small values.
 */
export function copierOf(body: unknown): () => unknown {
  try {
    const text = JSON.stringify(body)
    return () => JSON.parse(text)
  } catch {
    // A function has put into it what JSON does not have.
    return () => structuredClone(body)
  }
}

/**
 * Whether an id comes from the body alone: it is the same without any header, or with other values
 * where the function throws then. Where it throws again, the body must hold it, and it must be the
 * same without those headers that hold it too.
 */
export function isOfBody(id: string, { option, copy, arrival }: Called): boolean {
  const idWith = (other: EnvelopeArrival) => {
    const reading = readingOf(option, copy(), new Watched(other))
    return reading && { id: idOf(reading.id) }
  }
  const read = idWith({ headers: [] }) ?? idWith(without(arrival, ''))
  if (read) return read.id === id
  return holds(copy(), id) && idWith(without(arrival, id))?.id === id
}

/** With other values where a header, or the address, holds the text. */
function without({ headers, url }: EnvelopeArrival, text: string): EnvelopeArrival {
  const others = [...headers].map(([name, value]) => {
    return [name, value.includes(text) ? placeholder : value] as const
  })
  const address = `https://${placeholder}.invalid/`
  return { headers: others, url: url?.includes(text) ? address : url }
}

/** Whether it is one of the values. */
function holds(value: unknown, id: string): boolean {
  if (typeof value !== 'object' || value === null) return idOf(value) === id
  return Object.values(value).some((one) => holds(one, id))
}

/** Leaves out what no header may hold: other hosts than HTTP servers hand it on. */
function append(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value)
  } catch {}
}

/** Tells whether a function has looked beyond the body. */
export class Watched implements EnvelopeContext {
  touched = false
  readonly #arrival: EnvelopeArrival

  constructor(arrival: EnvelopeArrival) {
    this.#arrival = arrival
  }

  get headers(): Headers {
    this.touched = true
    const headers = new Headers()
    for (const [name, value] of this.#arrival.headers) {
      // Before 0.2.0 what came over HTTP/2 was kept with its pseudo headers.
      if (!name.startsWith(':')) append(headers, name, value)
    }
    return headers
  }

  get url(): string | undefined {
    this.touched = true
    return this.#arrival.url
  }
}
