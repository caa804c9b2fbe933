// From a request to checked input: reads a body within its limit, as JSON, and checks it and the
// query against a schema. What is wrong becomes a refusal of section 7, every field at once.
import { decodeUtf8, parseJson } from '../json.ts'
import { type FieldError, HttpError, invalid } from './http-error.ts'
import { profile } from './profile.ts'

/** The part of a schema that checking uses. */
export interface Schema<Output> {
  safeParse(
    value: unknown,
  ):
    | { readonly success: true; readonly data: Output }
    | { readonly success: false; readonly error: { readonly issues: readonly SchemaIssue[] } }
}

interface SchemaIssue {
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** The fields that a strict object does not know. */
  readonly keys?: readonly string[]
}

/** Checks a value; one entry for each offending field, the first thing that is wrong with it. */
export function checked<Output>(schema: Schema<Output>, value: unknown, what: string): Output {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw invalid(fieldErrors(result.error.issues), what)
}

/** One entry for each offending field; of a field that is not known, the field itself. */
export function fieldErrors(issues: readonly SchemaIssue[]): FieldError[] {
  const errors = new Map<string, FieldError>()
  for (const { path, message, keys } of issues) {
    for (const key of keys ?? [undefined]) {
      const field = [...path, ...(key === undefined ? [] : [key])].map(String).join('.')
      const said = key === undefined ? message : 'is unknown'
      if (!errors.has(field)) errors.set(field, { field, message: said })
    }
  }
  return [...errors.values()]
}

/** The query as an object; of a parameter that is given twice, the last one counts. */
export function queryOf(url: string): Readonly<Record<string, string>> {
  const at = url.indexOf('?')
  if (at < 0) return {}
  return Object.fromEntries(new URLSearchParams(url.slice(at)))
}

/** A request's JSON body; undefined when it has none. */
export async function jsonBody(
  request: Request,
  most: number = profile.maxBodyBytes,
): Promise<unknown> {
  const bytes = await bodyBytes(request, most)
  if (bytes.length === 0) return undefined
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (type !== 'application/json' && !/^application\/[\w.+-]+\+json$/.test(type)) {
    throw new HttpError(400, 'A request with a body must have Content-Type: application/json')
  }
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase()
  if (encoding !== undefined && encoding !== 'identity') {
    throw new HttpError(400, 'The request body must not be compressed')
  }
  const text = decodeUtf8(bytes)
  const parsed = text === undefined ? undefined : parseJson(text)
  if (!text || !parsed) {
    throw new HttpError(400, 'The request body is not JSON in UTF-8 of at most 64 levels')
  }
  refuseLostKeys(text)
  return parsed.value
}

/** Names that could reach a prototype are not read, and must not be lost in silence. */
function refuseLostKeys(text: string): void {
  if (!/__proto__|\\u|constructor/.test(text)) return
  const lost: FieldError[] = []
  const walk = (value: unknown, path: string) => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, one] of Object.entries(value)) {
      const field = path ? `${path}.${name}` : name
      if (isLost(name, one)) lost.push({ field, message: 'has a name that cannot be kept' })
      else walk(one, field)
    }
  }
  walk(JSON.parse(text), '')
  if (lost.length > 0) throw invalid(lost)
}

function isLost(name: string, value: unknown): boolean {
  if (name !== 'constructor') return name === '__proto__'
  return typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype')
}

/** A form's fields; at most `most` bytes of them. */
export async function formBody(request: Request, most: number): Promise<URLSearchParams> {
  const bytes = await bodyBytes(request, most)
  return new URLSearchParams(new TextDecoder().decode(bytes))
}

const read = new WeakMap<Request, Uint8Array>()

/** The bytes of a request's body, once they were read and where there were any. */
export function bodyRead(request: Request): Uint8Array | undefined {
  return read.get(request)
}

async function bodyBytes(request: Request, most: number): Promise<Uint8Array> {
  const bytes = await limitedBytes(request, most)
  if (bytes.length > 0) read.set(request, bytes)
  return bytes
}

async function limitedBytes(request: Request, most: number): Promise<Uint8Array> {
  const tooLarge = () => new HttpError(413, `The request body is larger than ${most} bytes`)
  if (!request.body) return new Uint8Array()
  if (Number(request.headers.get('content-length')) > most) throw tooLarge()
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new HttpError(400, 'The request body ended before its time')
    })
    if (done) break
    length += value.length
    if (length > most) {
      // The rest is not awaited: it may never end.
      reader.cancel().catch(() => {})
      throw tooLarge()
    }
    chunks.push(value)
  }
  return joined(chunks, length)
}

function joined(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (first && chunks.length === 1) return first
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}
