// The events of a pattern, as types: names, families, `*`, and deprecated names.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AssembledVerification } from '../protocol/api-schemas.ts'
import type { EventMap, KnownEvent, ReversalEvent, UnknownEvent } from '../protocol/events.ts'
import type { SchemaMap } from '../protocol/meanings.ts'
import type {
  CanonicalName,
  DecisionName,
  LegacyFamily,
  LegacyName,
  ReversalName,
} from '../protocol/names.ts'
import type { Client } from '../protocol/resources.ts'

/** The service's events, and the events that `schemas` replaces or adds. */
export type EventsWith<Schemas extends SchemaMap> = Omit<EventMap, keyof Schemas> & {
  readonly [Name in keyof Schemas & string]: KnownEvent<
    Name,
    StandardSchemaV1.InferOutput<Schemas[Name]>
  >
}

type NamesOf<Events> = keyof Events & string
type FamilyOf<Name extends string> = Name extends `${infer Type}.${string}` ? `${Type}.*` : never

/** The patterns that `on` accepts. */
export type Pattern<Events> = NamesOf<Events> | FamilyOf<NamesOf<Events>> | ReversalName | '*'

/** The patterns that `on` accepts, deprecated names among them. */
export type PatternOrLegacy<Events> = Pattern<Events> | LegacyName | LegacyFamily

type DataOf<Event> = Event extends { readonly data: infer Data } ? Data : never

type OneMatching<Events, P extends string> = P extends '*'
  ? Events[keyof Events] | UnknownEvent
  : P extends NamesOf<Events>
    ? Events[P]
    : P extends ReversalName
      ? ReversalEvent<DataOf<Events[Extract<NamesOf<Events>, DecisionName>]>>
      : P extends `${infer Type}.*`
        ? Events[Extract<NamesOf<Events>, `${Type}.${string}`>]
        : never

/** The events that a pattern covers. */
export type Matching<Events, P extends string> = P extends string
  ? OneMatching<Events, CanonicalName<P>>
  : never

/** The resource that `context.fetch()` gives for a pattern. */
export type ResourceOf<P extends string> = P extends string
  ? CanonicalName<P> extends `verification.${string}`
    ? AssembledVerification
    : P extends `client.${string}`
      ? Client
      : AssembledVerification | Client
  : never
