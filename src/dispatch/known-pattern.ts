// The error of a misspelt name, as a type: the sentence that TypeScript shows, with the known name
// that is meant. It is worked out for misspelt names alone, so that others cost the compiler nothing.
import type { LegacyPattern, Pattern } from './patterns.ts'

/** Any literal, with the known ones suggested by editors. */
export type AnyPattern<Events> = Pattern<Events> | LegacyPattern | (string & Record<never, never>)

/** A known pattern as it is, and the sentence for another. */
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
