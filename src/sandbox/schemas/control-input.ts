// What each route of the control plane hands to its handler, as its schemas in the table say.
import type * as z from 'zod'
import type { controlRoutes } from './control-routes.ts'

type Routes = typeof controlRoutes

/** The name of a route of the control plane. */
export type ControlName = keyof Routes

type Part<Route, Name extends string> = Route extends { readonly [Key in Name]: z.ZodType }
  ? z.infer<Route[Name]>
  : undefined

/** What a route's handler is given, checked. */
export interface ControlInput<Name extends ControlName> {
  readonly params: Part<Routes[Name], 'params'>
  readonly query: Part<Routes[Name], 'query'>
  readonly body: Part<Routes[Name], 'body'>
}
