// The service that these tests call: a sandbox in the process, by fetch or over HTTP, and small
// servers for what a sandbox would never do.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import { type ClientOptions, createClient } from '../../src/client/index.ts'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { openSandbox as openLocally, type Sandbox } from '../../tools/sandbox/sandbox.ts'

export const start = '2026-03-01T10:00:00.000Z'

/** A sandbox that ends with its test. */
export function openSandbox(options: SandboxOptions = {}): Sandbox {
  const { sandbox } = openLocally({ rateLimit: false, seed: 7, ...options })
  onTestFinished(() => sandbox.close())
  return sandbox
}

/** A client of a sandbox, without a port and without waits between its attempts. */
export function clientOf(sandbox: Sandbox, options: Partial<ClientOptions> = {}) {
  return createClient({
    baseUrl: sandbox.baseUrl,
    apiKey: sandbox.apiKey,
    fetch: sandbox.fetch,
    retry: { baseDelay: 0 },
    now: () => sandbox.clock.now(),
    ...options,
  })
}

/** Makes things go wrong in a sandbox from now on. */
export function strike(sandbox: Sandbox, ...faults: readonly object[]): void {
  sandbox.faults.set(faults as never)
}

/** A real server that answers as told, its address, and what it was asked. */
export async function serve(listener: RequestListener) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`)
    listener(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { port, seen, baseUrl: `http://127.0.0.1:${port}/v2/api` }
}

/** Returns the reason of a rejected promise. */
export async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: unknown) => error,
  )
}

/** The address of a service that is not there. */
export async function nowhere(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}/v2/api`
}
