// The pipeline's input to an inbox: the verified bytes, and all that could be parsed from them.

import type { VerifiedDelivery } from './delivery.ts'
import { defined } from './foundation/defined.ts'
import type { Arrival } from './inbox/entry.ts'
import { observedName } from './observe/observe.ts'
import {
  createParser,
  type Parsed,
  type ParsedEvent,
  type ParseOptions,
  type Parser,
} from './parse.ts'
import type { Entity, EventSource, WebhookEvent } from './protocol/events.ts'
import { idOf, parseTime } from './protocol/json-paths.ts'
import { happensOnce, probeName } from './protocol/names.ts'

/** An event as it is read for an inbox, which keeps it whatever its data are. */
export type Peeked = Parsed & Rejectable

interface Rejectable {
  /** The parser of this receiver rejects its data. */
  readonly schemaRejected?: true
}

/** Reads events for an inbox. */
export function createPeek(
  options: ParseOptions,
): (delivery: VerifiedDelivery, source: EventSource, kept?: Parameters<Parser>[2]) => Peeked {
  const peek = createParser({ ...options, validate: 'off' })
  if (options.validate !== 'reject') return peek
  const parser = createParser(options)
  return (delivery, source, kept) => {
    const parsed = peek(delivery, source, kept)
    if (!parsed.ok) return parsed
    const judged = (one: ParsedEvent): ParsedEvent & Rejectable =>
      refuses(parser, delivery, source, one) ? { ...one, schemaRejected: true } : one
    const { others } = parsed
    return others ? { ...judged(parsed), others: others.map(judged) } : judged(parsed)
  }
}

/** A schema that throws says nothing of the data: its attempt fails, and is retried. */
function refuses(parser: Parser, ...[delivery, source, kept]: Parameters<Parser>): boolean {
  try {
    return !parser(delivery, source, { part: kept?.part }).ok
  } catch {
    return false
  }
}

export function toArrival(
  delivery: VerifiedDelivery,
  parsed: Peeked,
  source: EventSource,
): Arrival {
  const from = { delivery, source }
  if (!parsed.ok) {
    const key = delivery.signedId
    return { ...from, ...(key !== undefined && { key }) }
  }
  const { event, key, dedupe, lasting, part } = parsed
  const related = clientOf(event, parsed.exactData ?? event.data)
  const occurrence = occurrenceOf(event)
  return {
    ...from,
    ...(key !== undefined && { key }),
    ...defined({ dedupe, lasting, part, schemaRejected: parsed.schemaRejected }),
    // Outside the encrypted part: a person's name is not an event's name.
    name: observedName(event.name, event.known),
    receivedName: observedName(event.receivedName, event.known),
    ...(event.entity && { entity: event.entity }),
    ...(related && { related }),
    ...defined({ occurredAt: event.occurredAt, updatedAt: updatedAtOf(event) }),
    ...(occurrence !== undefined && { occurrence }),
  }
}

/** The arrivals of a body that holds several events. */
export function toArrivals(
  delivery: VerifiedDelivery,
  parsed: ParsedEvent,
  source: EventSource,
): readonly Arrival[] {
  const events = [parsed, ...(parsed.others ?? [])]
  return events.map((one) => toArrival(delivery, one, source))
}

/**
 * Tells a proved delivery that is a probe of `doctor`: its sender holds the secret. In a vendor's
 * shape the received name tells it.
 */
export function isProbe({ body }: VerifiedDelivery, parsed: Parsed): boolean {
  if (parsed.ok) return parsed.event.receivedName === probeName
  if (parsed.code === 'ENVELOPE_INVALID') return false
  return [...`{"event":"${probeName}"`].every((letter, at) => body[at] === letter.charCodeAt(0))
}

/**
 * The client that a verification names (section 2.1), which other events may name too: `forget` of
 * the client covers both. The client may have another id as well, by which its verifications name
 * it.
 */
function clientOf({ entity }: WebhookEvent, data: unknown): Entity | undefined {
  if (!entity || typeof data !== 'object' || data === null) return undefined
  const id = idOf((data as { readonly clientId?: unknown }).clientId)
  if (id === undefined) return undefined
  return entity.type === 'client' && entity.id === id ? undefined : { type: 'client', id }
}

/** A record of the service states it (sections 2.1 and 2.4). */
function updatedAtOf({ data }: WebhookEvent): Date | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const { updatedAt } = data as { readonly updatedAt?: unknown }
  const at = new Date(parseTime(updatedAt))
  return Number.isNaN(at.getTime()) ? undefined : at
}

/** The occurrence of an event that a resource has once in its life, as a rule. */
function occurrenceOf({ name, entity }: WebhookEvent): string | undefined {
  if (!entity?.id || !happensOnce(name)) return undefined
  return JSON.stringify([name, entity.type, entity.id])
}
