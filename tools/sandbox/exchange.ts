// Turns a request into checked input: reads a body within its limit as JSON, and checks it and the
// query against a schema. A fault becomes an error of section 7, with every field at once.
import type { Context, Hono } from 'hono'
import { fieldErrors } from '../../src/client/call.ts'
import { readStream } from '../../src/foundation/bytes.ts'
import { decodeUtf8, parseJson } from '../../src/foundation/json.ts'
import { HttpError, invalidFields, methodNotAllowed } from './http-error.ts'
import { profile } from './profile.ts'
import type { Schema } from './schemas/control.ts'

/** The value as its schema gives it; throws 422 with an entry for each offending field. */
export function checked<Output>(schema: Schema<Output>, value: unknown, what: string): Output {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalidFields(fieldErrors(result.error.issues), what)
}

/** A request's JSON body; undefined when it has none. */
export async function jsonBody(
  request: Request,
  maxBytes: number = profile.maxBodyBytes,
): Promise<unknown> {
  const bytes = await bodyBytes(request, maxBytes)
  if (bytes.length === 0) return undefined
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !/^application\/[\w.+-]+\+json$/.test(type)) {
    throw new HttpError(400, 'A request with a body must have Content-Type: application/json')
  }
  const text = decodeUtf8(bytes)
  const parsed = text === undefined ? undefined : parseJson(text)
  if (text === undefined || !parsed) {
    throw new HttpError(400, 'The request body is not JSON in UTF-8 of at most 512 levels')
  }
  return parsed.value
}

export async function formBody(request: Request, maxBytes: number): Promise<URLSearchParams> {
  return new URLSearchParams(new TextDecoder().decode(await bodyBytes(request, maxBytes)))
}

async function bodyBytes(request: Request, maxBytes: number): Promise<Uint8Array> {
  const tooLarge = () => new HttpError(413, `The request body is larger than ${maxBytes} bytes`)
  if (Number(request.headers.get('content-length')) > maxBytes) throw tooLarge()
  // Read on before the 413: a client that still sends would lose the answer.
  const most = Math.max(maxBytes, 64 * 1_048_576)
  const bytes = await readStream(request.body, { most }).catch(() => {
    throw new HttpError(400, 'The request body ended early')
  })
  if (!bytes || bytes.length > maxBytes) throw tooLarge()
  return bytes
}

/** A route to mount; its path names parameters as `{id}`. */
export interface MountedRoute {
  readonly method: string
  readonly path: string
  answer(context: Context): Response | Promise<Response>
}

/** Mounts routes; every other method of their paths is answered 405. */
export function mount(app: Hono, routes: readonly MountedRoute[]): Hono {
  const methods = new Map<string, string[]>()
  for (const { method, path, answer } of routes) {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    methods.set(pattern, [...(methods.get(pattern) ?? []), method])
    app.on(method, pattern, answer)
  }
  for (const [pattern, allow] of methods) {
    app.all(pattern, () => methodNotAllowed(allow).toResponse())
  }
  return app
}
