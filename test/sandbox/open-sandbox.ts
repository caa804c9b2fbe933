// Sandboxes for these tests, and the calls that they make of them.
import { buildSandbox, type Sandbox } from '../../src/sandbox/build-sandbox.ts'
import { openDataFile } from '../../src/sandbox/data-file.ts'
import { checkOptions, type SandboxOptions } from '../../src/sandbox/options.ts'
import { standInEngine } from './stand-in-engine.ts'

export const start = '2026-03-01T10:00:00.000Z'

export async function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const all = { seed: 7, now: start, rateLimit: false as const, ...options }
  checkOptions(all)
  return buildSandbox({
    options: all,
    seed: all.seed,
    file: all.data === undefined ? undefined : openDataFile(all.data),
    makeEngine: (onChange) =>
      standInEngine({
        seed: all.seed,
        now: new Date(typeof all.now === 'function' ? all.now() : all.now),
        fetch: all.fetch ?? fetch,
        onChange,
      }),
  })
}

export interface CallOptions {
  readonly key?: string | null
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** One request, by the sandbox's fetch or over HTTP; the body as JSON. */
export type Call = (
  method: string,
  path: string,
  options?: CallOptions,
) => Promise<{ status: number; headers: Headers; body: Json }>

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely by the tests.
export type Json = any

export function caller(origin: string, send: (request: Request) => Promise<Response>): Call {
  return async (method, path, { key = 'key_acme', body, headers = {} } = {}) => {
    const response = await send(
      new Request(`${origin}${path}`, {
        method,
        headers: {
          ...(key !== null && { 'x-api-key': key }),
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      body: text === '' ? undefined : JSON.parse(text),
    }
  }
}
