// Create calls on every runtime when the service refuses connections, or dies after the work.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'

const run = promisify(execFile)
const { bare, nodes, bun, deno } = inject('installed')
const folder = join(bare, 'refused')

beforeAll(() => {
  mkdirSync(folder, { recursive: true })
  cpSync(join(import.meta.dirname, 'matrix/refused.mjs'), join(folder, 'refused.mjs'))
})

const runtimes: readonly (readonly [name: string, command: readonly string[], proves: boolean])[] =
  [
    ['Node 22.18', [nodes['22.18.0'] as string], true],
    ['Node 26', [process.execPath], true],
    ['Bun', [bun, 'run'], true],
    ['Deno', [deno, 'run', '--no-prompt', '--no-remote', '--allow-net'], false],
  ]

/** A service that answers reads; after the work of the first create call it is gone. */
async function dying() {
  let created = 0
  const page = { page: 1, limit: 20, total: 0, totalPages: 0, hasNext: false, hasPrev: false }
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ data: [], pagination: page }))
      return
    }
    request.resume().once('end', () => {
      created += 1
      server.close()
      request.socket.destroy()
      server.closeAllConnections()
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  return { server, baseUrl: `http://127.0.0.1:${port}/v2/api`, created: () => created }
}

async function create([command, ...args]: readonly string[], ...given: string[]) {
  const { stdout } = await run(command as string, [...args, 'refused.mjs', ...given], {
    cwd: folder,
  })
  return JSON.parse(stdout) as [code: string, attempts: number]
}

test.each(runtimes)(
  'on %s a create call is repeated after a refused connection, if the runtime proves it unsent',
  async (_, command, proves) => {
    const { server, baseUrl } = await dying()
    await new Promise((resolve) => server.close(resolve))
    expect(await create(command, baseUrl)).toEqual(
      proves ? ['NETWORK_ERROR', 3] : ['OUTCOME_UNKNOWN', 1],
    )
  },
)

test.each(runtimes)(
  'on %s a create call whose work was done on a kept connection is an unknown outcome',
  async (_, command) => {
    const { baseUrl, created } = await dying()
    expect(await create(command, baseUrl, 'kept')).toEqual(['OUTCOME_UNKNOWN', 1])
    expect(created()).toBe(1)
  },
)
