import { getEventListeners, once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { inspect } from 'node:util'
import { Hono } from 'hono'
import { afterEach, expect, test } from 'vitest'
import { createEvents, streamEvents } from '../../tools/sandbox/events.ts'
import type { SandboxOptions } from '../../tools/sandbox/options.ts'
import { createEventSource } from './event-source.ts'
import { openSandbox } from './open-sandbox.ts'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function fresh(options: SandboxOptions = {}) {
  const sandbox = await openSandbox(options)
  closing.push(() => sandbox.close())
  return sandbox
}

test('an allowed host name is compared without case', async () => {
  const { fetch } = await fresh({ hosts: ['MyBox'] })
  for (const host of ['MyBox:80', 'mybox', 'MYBOX:1']) {
    const { status } = await fetch('http://mybox/_sandbox/clock', { headers: { host } })
    expect(status, host).toBe(200)
  }
})

test('a request whose target is an absolute address is answered by its path', async () => {
  const sandbox = await fresh()
  const { port } = await sandbox.listen()
  const socket = connect(port, '127.0.0.1')
  socket.end(
    `GET http://localhost:${port}/_sandbox/clock?x=1 HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`,
  )
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 200 [\s\S]*"frozen":true/)
})

test('every port that it listens on is closed with it', async () => {
  const sandbox = await fresh()
  const ports = [await sandbox.listen(), await sandbox.listen()]
  expect(sandbox.url).toBe(ports[1]?.url)
  for (const { url } of ports) expect((await fetch(`${url}/_sandbox/clock`)).status).toBe(200)
  await sandbox.close()
  for (const { url } of ports) await expect(fetch(`${url}/_sandbox/clock`)).rejects.toThrow()
})

test('a path names its methods in Allow, HEAD with GET', async () => {
  const { fetch, url } = await fresh()
  for (const [method, path, allow] of [
    ['OPTIONS', '/v2/api/openapi.json', 'GET, HEAD'],
    ['DELETE', '/verify/x', 'GET, POST, HEAD'],
    ['POST', '/', 'GET, HEAD'],
  ] as const) {
    const { status, headers } = await fetch(`${url}${path}`, { method })
    expect([status, headers.get('allow')], path).toEqual([405, allow])
  }
})

/** The stream of events, as a route serves it. */
async function watching(
  bus: ReturnType<typeof createEvents>,
  request: Request,
  end = new AbortController().signal,
) {
  return new Hono().get('/', (context) => streamEvents(context, bus, end)).fetch(request)
}

test('a watcher that leaves is forgotten', async () => {
  const sandboxEnd = new AbortController()
  const bus = createEvents()
  for (let at = 0; at < 5; at++) {
    const own = new AbortController()
    const request = new Request('http://sandbox.localhost/', { signal: own.signal })
    const { body } = await watching(bus, request, sandboxEnd.signal)
    if (at % 2 === 0) await body?.cancel()
    else own.abort()
  }
  await new Promise(setImmediate)
  expect(bus.listenerCount('change')).toBe(0)
  expect(getEventListeners(sandboxEnd.signal, 'abort')).toEqual([])
})

test.each([
  ['401', 'key_nobody', 401],
  ['413', 'key_acme', 413],
])('a %s that leaves a body unread arrives', async (_status, key, expected) => {
  const { port } = await (await fresh()).listen()
  for (const megabytes of [2, 20]) {
    for (const chunked of [false, true]) {
      const body = Buffer.alloc(megabytes * 1_048_576, ' ')
      const headers = { 'x-api-key': key, 'content-type': 'application/json' }
      const status = await new Promise((resolve, reject) => {
        const options = { port, method: 'POST', path: '/v2/api/clients', headers }
        const outgoing = request(options, (answer) => {
          answer.resume().on('end', () => resolve(answer.statusCode))
        })
        outgoing.on('error', reject)
        if (!chunked) outgoing.setHeader('content-length', body.length)
        if (chunked) outgoing.write(body)
        outgoing.end(chunked ? undefined : body)
      })
      expect(status, `${megabytes} MB, ${chunked ? 'chunked' : 'declared'}`).toBe(expected)
    }
  }
})

test('a body that never ends is cut off after its error was answered', async () => {
  const { port } = await (await fresh()).listen()
  const socket = connect(port, '127.0.0.1')
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => {})
  socket.write(
    'POST /v2/api/clients HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
  )
  const [answer] = await once(socket, 'data')
  expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /)
  const piece = Buffer.concat([
    Buffer.from('10000\r\n'),
    Buffer.alloc(65_536, 32),
    Buffer.from('\r\n'),
  ])
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
    if (!socket.destroyed) socket.once('drain', write)
  }
  write()
  await closed
})

test('the printed addresses lead to all parts of the sandbox', async () => {
  const sandbox = await fresh()
  const read = async (path: string) => (await sandbox.fetch(`${sandbox.url}${path}`)).json()
  for (const path of ['/', '/v2/api', '/v2/api/', '/_sandbox', '/_sandbox/']) {
    const { api, control, apiDocument, example } = await read(path)
    expect([api, control]).toEqual([sandbox.baseUrl, `${sandbox.url}/_sandbox`])
    expect(example).toContain(`curl -X POST ${sandbox.baseUrl}/verifications`)
    expect((await sandbox.fetch(apiDocument)).status).toBe(200)
  }
})

test('a sandbox that is printed or serialized shows no secret', async () => {
  const sandbox = await fresh({ secret: 'a-secret-nobody-sees' })
  const printed = inspect(sandbox, { depth: 9, showHidden: true }) + JSON.stringify(sandbox)
  expect(printed).not.toContain('a-secret-nobody-sees')
})

test('a watcher receives changes of clock, faults and organizations; after a reconnect it reads the state again', async () => {
  const sandbox = await fresh()
  const { url } = await sandbox.listen()
  const events = await createEventSource(`${url}/_sandbox/events`)
  closing.push(events.close)
  sandbox.clock.freeze()
  sandbox.faults.set([{ kind: 'drop', times: 1 }])
  const change = { method: 'PATCH', headers: { 'content-type': 'application/json' } }
  const body = '{"ratePerMinute":7}'
  await fetch(`${url}/_sandbox/organizations/org_acme`, { ...change, body })
  const seen = await events.until('organizations')
  expect(seen.map(({ type }) => type)).toEqual(['clock', 'faults', 'organizations'])
  expect(JSON.stringify(seen.at(-1)?.data)).not.toContain('key_acme')
  const again = await createEventSource(`${url}/_sandbox/events`, seen[0]?.id)
  closing.push(again.close)
  expect(await again.until('state')).toMatchObject([{ data: { resumed: false } }])
})
