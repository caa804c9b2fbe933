// Which events a pattern stands for, as types: names, families, `*`, and the deprecated names.
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { SchemaMap } from '../parse.ts'
import type { EventMap, KnownEvent, ReversalEvent, UnknownEvent } from '../protocol/events.ts'
import type { DecisionName, ReversalName } from '../protocol/finality.ts'
import type { CanonicalName, LegacyFamily, LegacyName } from '../protocol/names.ts'
import type { AssembledVerification, Client } from '../protocol/resources.ts'

/** The service's events, with those that `schemas` replaces or adds. */
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

/** The deprecated names that `on` also accepts. */
export type LegacyPattern = LegacyName | LegacyFamily

/** Any literal, with the known ones suggested by editors. */
export type AnyPattern<Events> = Pattern<Events> | LegacyPattern | (string & Record<never, never>)

/**
 * A known pattern as it is; for another the sentence that TypeScript then shows, with the known name
 * that is meant. It is worked out for misspelt names alone.
 */
export type KnownPattern<Events, P extends string> = P extends Pattern<Events> | LegacyPattern
  ? P
  : string extends P
    ? Pattern<Events>
    : [Meant<P, Pattern<Events>>] extends [never]
      ? `There is no event '${P}'. For events that this version does not know, use fallback() or '*'`
      : `There is no event '${P}'. Did you mean '${Meant<P, Pattern<Events>>}'?`

/** The known names that a name ends, or that differ from it by two letters in one place at most. */
type Meant<P extends string, Known extends string> = Known extends `${string}.${P}`
  ? Known
  : AfterStart<P, Known> extends readonly [infer A extends string, infer B extends string]
    ? AfterStart<Reversed<A>, Reversed<B>> extends readonly [
        infer X extends string,
        infer Y extends string,
      ]
      ? readonly [IsShort<X>, IsShort<Y>] extends readonly [true, true]
        ? Known
        : never
      : never
    : never

type IsShort<Text extends string> = Text extends `${infer _}${infer _}${infer Rest}`
  ? Rest extends ''
    ? true
    : false
  : true

/** The rests of two texts after the letters that both begin with. */
type AfterStart<A extends string, B extends string> = A extends `${infer Letter}${infer RestOfA}`
  ? B extends `${Letter}${infer RestOfB}`
    ? AfterStart<RestOfA, RestOfB>
    : readonly [A, B]
  : readonly [A, B]

type Reversed<
  Text extends string,
  Done extends string = '',
> = Text extends `${infer Letter}${infer Rest}` ? Reversed<Rest, `${Letter}${Done}`> : Done

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
