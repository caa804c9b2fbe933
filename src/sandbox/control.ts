// The control plane under `/_sandbox`: a router over its table of routes. It checks where a request
// comes from and what it holds; what each route does is decided by its handler.
import { Hono } from 'hono'
import { checked, jsonBody, queryOf } from './exchange.ts'
import { HttpError, methodNotAllowed } from './http-error.ts'
import type { ControlInput, ControlName } from './schemas/control-input.ts'
import { type ControlRoute, controlRoutes } from './schemas/control-routes.ts'

/** The path of the control plane. */
export const controlPath = '/_sandbox'

/** What each route does, given its checked input. */
export type ControlHandlers = {
  readonly [Name in ControlName]: (input: ControlInput<Name>) => unknown
}

/** What stands before, beside and after the handlers. */
export interface ControlParts {
  readonly handlers: ControlHandlers
  /** Throws a refusal when a request comes from where it must not. */
  readonly guard: (request: Request) => void
  /** GET routes that answer with a response of their own. */
  readonly responses: Readonly<Record<string, (request: Request) => Response>>
}

/** The router of the control plane, its paths relative to `controlPath`. */
export function createControl(parts: ControlParts): Hono {
  const app = new Hono()
  const methods = new Map<string, string[]>()
  app.use('*', async (context, next) => {
    parts.guard(context.req.raw)
    await next()
  })
  for (const [name, route] of Object.entries<ControlRoute>(controlRoutes)) {
    const pattern = route.path.replaceAll(/\{(\w+)\}/g, ':$1')
    const method = route.method.toUpperCase()
    methods.set(pattern, [...(methods.get(pattern) ?? []), method])
    // The table gives each handler the input that its own route checks.
    const handle = parts.handlers[name as ControlName] as (input: unknown) => unknown
    app.on(method, pattern, async (context) => {
      const input = await inputOf(route, context.req.raw, context.req.param())
      const answer = await handle(input)
      return Response.json(answer, { status: route.status })
    })
  }
  for (const [path, respond] of Object.entries(parts.responses)) {
    app.get(path, (context) => respond(context.req.raw))
    methods.set(path, ['GET'])
  }
  for (const [pattern, allow] of methods) {
    app.all(pattern, () => methodNotAllowed(allow).toResponse())
  }
  return app
}

async function inputOf(
  { params, query, body, bodyOptional, maxBytes }: ControlRoute,
  request: Request,
  values: Readonly<Record<string, string>>,
) {
  const content = body && (await jsonBody(request, maxBytes))
  if (body && content === undefined && !bodyOptional) {
    throw new HttpError(400, 'The request has no JSON body')
  }
  return {
    params: params && checked(params, values, 'path'),
    query: query && checked(query, queryOf(request.url), 'query'),
    body: body && checked(body, content ?? {}, 'request body'),
  }
}
