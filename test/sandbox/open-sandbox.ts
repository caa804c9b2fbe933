// Sandboxes for these tests, and the calls that they make of them.

import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import type { Sandbox } from '../../tools/sandbox/sandbox.ts'
import { createSandbox } from '../../tools/sandbox/sandbox.ts'

export const start = '2026-03-01T10:00:00.000Z'

/**
 * A sandbox of a known seed whose clock stands still and which has no rate limit, unless the test
 * says otherwise.
 */
export function openSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  return createSandbox({ seed: 7, now: start, rateLimit: false, ...options })
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
