// The hand-written route with the promises of this package, added one after another, to measure the
// cost of each. It contains no code of the package.
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { type Event, olderNames, type Sample } from './contenders/contender.ts'
import { secret } from './deliveries.ts'

/** The promises, in the order in which they are added. */
export const steps = [
  'the limit, in an async function',
  'rejects bytes that are not UTF-8',
  'drops keys that reach a prototype, bounds depth',
  'checks headers in every spelling',
  'reads id, time, entity and legacy names',
  'makes a context and an outcome, drains',
] as const

export interface Arriving {
  readonly body: Buffer
  /** A record, or name, value, name, value. */
  readonly headers: Readonly<Record<string, string>> | readonly string[]
}

const key = createSecretKey(Buffer.from(secret))
const expected = Buffer.alloc(64)
const claimed = Buffer.alloc(64)

function isSigned(body: Buffer, signature: string): boolean {
  expected.write(createHmac('sha256', key).update(body).digest('hex'), 0, 64, 'latin1')
  claimed.write(signature, 0, 64, 'latin1')
  return timingSafeEqual(expected, claimed)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function isHarmless(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (most === 0) return false
  if (Array.isArray(value)) {
    for (const one of value) if (!isHarmless(one, most - 1)) return false
    return true
  }
  const object = value as Record<string, unknown>
  for (const name in object) {
    const one = object[name]
    if (name === '__proto__') delete object[name]
    else if (name === 'constructor' && Object.hasOwn(Object(one), 'prototype')) delete object[name]
    else if (!isHarmless(one, most - 1)) return false
  }
  return true
}

/** The one value of a header that may not occur twice, in whatever case its name came. */
function only(flat: readonly string[], wanted: string): string | undefined {
  let found: string | undefined
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at] as string
    if (name.length !== wanted.length || name.toLowerCase() !== wanted) continue
    if (found !== undefined) throw new Error(`${wanted} stands twice`)
    found = flat[at + 1]
  }
  return found
}

const hexDigest = /^[0-9a-f]{64}$/

/** The hex digest of a signature in hex, base64 or base64url, with or without its prefix. */
function digestOf(value: string): string {
  const text = value.trim().replace(/^sha256=/, '')
  const digest = hexDigest.test(text)
    ? text
    : Buffer.from(text, text.length === 64 ? 'hex' : 'base64url').toString('hex')
  if (digest.length !== 64) throw new Error('no signature')
  return digest
}

function signatureIn({ body, headers }: Arriving): string {
  const flat = Array.isArray(headers) ? headers : Object.entries(headers).flat()
  if (body.length > 4 << 20) throw new Error('too large')
  if ((only(flat, 'content-encoding') ?? 'identity') !== 'identity') throw new Error('compressed')
  const type = only(flat, 'content-type') ?? 'application/json'
  if (type !== 'application/json' && !/^\S+\/(?:\S+\+)?json\b/.test(type)) {
    throw new Error('not JSON')
  }
  return digestOf(only(flat, 'x-service-signature') ?? '')
}

interface Full {
  readonly id: string | undefined
  readonly name: string
  readonly receivedName: string
  readonly occurredAt: Date | undefined
  readonly entity: { readonly type: string; readonly id: string }
  readonly data: unknown
  readonly issues: unknown
}

type Body = Record<string, unknown>

function fullEvent(body: Body, { schema }: Sample): Full {
  const receivedName = body.event ?? body.type ?? body.name
  if (typeof receivedName !== 'string') throw new Error('no name')
  const id = body.id ?? body.eventId
  const time = body.createdAt ?? body.created_at ?? body.timestamp ?? body.occurredAt
  const occurredAt = typeof time === 'string' ? new Date(time) : undefined
  const name = olderNames.get(receivedName) ?? receivedName
  const checked = schema.safeParse(body.data ?? body.payload)
  const data = checked.success ? checked.data : body.data
  const entity = {
    type: name.slice(0, name.indexOf('.')),
    id: String((data as { id?: unknown }).id),
  }
  const issues = checked.success ? undefined : checked.error
  return {
    ...{ id: typeof id === 'string' ? id : undefined, name, receivedName },
    ...{ occurredAt, entity, data, issues },
  }
}

/** The context of a handler; its signal and key are made on demand. */
class Context {
  readonly attempt = 1
  readonly delivery: Arriving
  readonly #event: Full
  #abort: AbortController | undefined

  constructor(delivery: Arriving, event: Full) {
    this.delivery = delivery
    this.#event = event
  }

  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    return this.#abort.signal
  }

  get idempotencyKey(): string {
    return this.#event.id ?? createHmac('sha256', '').update(this.delivery.body).digest('hex')
  }
}

const atWork = new Set<object>()

/** Runs the handler; its result is the outcome of the delivery. */
async function outcomeOf(arriving: Arriving, event: Full, { handler }: Sample) {
  const began = performance.now()
  const work = {}
  atWork.add(work)
  try {
    const handlers = new Map([['verification.approved', [handler]]]).get(event.name) ?? []
    const errors: unknown[] = []
    for (const one of handlers) {
      try {
        const context = new Context(arriving, event)
        const result: unknown = (one as (...args: unknown[]) => unknown)(event, context)
        if (result instanceof Promise) await result
      } catch (error) {
        errors.push(error)
      }
    }
    const took = performance.now() - began
    return errors.length > 0 ? { kind: 'failed', errors, took } : { kind: 'handled', event }
  } finally {
    atWork.delete(work)
  }
}

/** The delivery by hand, with as many of the promises as `step` says. */
export function promised(sample: Sample, step: number) {
  return async (arriving: Arriving): Promise<boolean> => {
    const { body, headers } = arriving
    const record = headers as Readonly<Record<string, string>>
    const signature = step >= 3 ? signatureIn(arriving) : record['x-service-signature']
    if (signature?.length !== 64 || !isSigned(body, signature)) throw new Error('wrong signature')
    const json: Event & Body = JSON.parse(step >= 1 ? utf8.decode(body) : body.toString())
    if (step >= 2 && !isHarmless(json, 512)) throw new Error('too deep')
    if (step >= 4) {
      const event = fullEvent(json, sample)
      if (step < 5) return sample.handler(event)
      return (await outcomeOf(arriving, event, sample)).kind === 'handled'
    }
    json.event = olderNames.get(json.event) ?? json.event
    const checked = sample.schema.safeParse(json.data)
    if (!checked.success) throw checked.error
    json.data = checked.data
    return sample.handler(json)
  }
}
