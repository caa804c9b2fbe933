// The control plane under `/_sandbox`: a router over its table of routes. It checks what a request
// holds; handlers decide what each route does.
import { Hono } from 'hono'
import { checked, jsonBody, queryOf } from './exchange.ts'
import { HttpError, methodNotAllowed } from './http-error.ts'
import { profile } from './profile.ts'
import {
  type ControlInput,
  type ControlName,
  type ControlRoute,
  controlRoutes,
} from './schemas/control-routes.ts'

/** The path of the control plane. */
export const controlPath = '/_sandbox'

/** Handlers by route, called with checked input. */
export type ControlHandlers = {
  readonly [Name in ControlName]: (input: ControlInput<Name>) => unknown
}

/** The router of the control plane, its paths relative to `controlPath`. */
export function createControl(handlers: ControlHandlers): Hono {
  const app = new Hono()
  const methods = new Map<string, string[]>()
  for (const [name, route] of Object.entries<ControlRoute>(controlRoutes)) {
    const pattern = route.path.replaceAll(/\{(\w+)\}/g, ':$1')
    const method = route.method.toUpperCase()
    methods.set(pattern, [...(methods.get(pattern) ?? []), method])
    // The table gives each handler the input that its own route checks.
    const handle = handlers[name as ControlName] as (input: unknown) => unknown
    app.on(method, pattern, async (context) => {
      const input = await inputOf(route, context.req.raw, context.req.param())
      return Response.json(await handle(input), { status: route.status ?? 200 })
    })
  }
  for (const [pattern, allow] of methods) {
    app.all(pattern, () => methodNotAllowed(allow).toResponse())
  }
  return app
}

/** A snapshot nests records, which nest what a request body of the API held. */
const maxLevels = profile.maxLevels + 20

async function inputOf(
  { params, query, body, bodyOptional, maxBytes }: ControlRoute,
  request: Request,
  values: Readonly<Record<string, string>>,
) {
  const content = body && (await jsonBody(request, { maxBytes, maxLevels }))
  if (body && content === undefined && !bodyOptional) {
    throw new HttpError(400, 'The request has no JSON body')
  }
  return {
    params: params && checked(params, values, 'path'),
    query: query && checked(query, queryOf(request.url), 'query'),
    body: body && checked(body, content ?? {}, 'request body'),
  }
}
