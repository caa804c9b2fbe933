import { getEventListeners } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { EventBus } from '../../src/sandbox/event-bus.ts'
import { eventStream } from '../../src/sandbox/event-stream.ts'
import type { SandboxOptions } from '../../src/sandbox/options.ts'
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

test('a name that the control plane answers to has no case', async () => {
  const { fetch } = await fresh({ hosts: ['MyBox'] })
  for (const host of ['MyBox:80', 'mybox', 'MYBOX:1']) {
    const { status } = await fetch('http://mybox/_sandbox/clock', { headers: { host } })
    expect(status, host).toBe(200)
  }
})

test('a request whose target is a whole address is answered by its path', async () => {
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

test('paths of one method name it, HEAD with GET', async () => {
  const { fetch, url } = await fresh()
  for (const [method, path, allow] of [
    ['PUT', '/_sandbox/openapi.json', 'GET, HEAD'],
    ['OPTIONS', '/v2/api/openapi.json', 'GET, HEAD'],
    ['DELETE', '/verify/x', 'GET, POST, HEAD'],
    ['POST', '/', 'GET, HEAD'],
  ] as const) {
    const { status, headers } = await fetch(`${url}${path}`, { method })
    expect([status, headers.get('allow')], path).toEqual([405, allow])
  }
})

test('whoever watched and left leaves nothing behind', async () => {
  const sandboxEnd = new AbortController()
  const bus = new EventBus()
  for (let at = 0; at < 5; at++) {
    const own = new AbortController()
    const request = new Request('http://sandbox.localhost/', { signal: own.signal })
    const { body } = eventStream(bus, request, sandboxEnd.signal)
    if (at % 2 === 0) await body?.cancel()
    else own.abort()
  }
  expect(bus.watchers).toBe(0)
  expect(getEventListeners(sandboxEnd.signal, 'abort')).toEqual([])
})

test('mail goes where SMTP_URL says, unless the option says otherwise', async () => {
  const before = process.env.SMTP_URL
  process.env.SMTP_URL = 'smtp://127.0.0.1:1'
  closing.push(() => {
    if (before === undefined) delete process.env.SMTP_URL
    else process.env.SMTP_URL = before
  })
  const transport = async (options: SandboxOptions) => {
    const sandbox = await fresh(options)
    await sandbox.fetch(`${sandbox.baseUrl}/verifications`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: '{"type":"idv","requirements":["document"],"subjectEmail":"s@x.example"}',
    })
    await sandbox.flush()
    return sandbox.snapshot().state.outbox[0]?.transport
  }
  expect(await transport({})).toBe('failed')
  expect(await transport({ smtpUrl: '' })).toBe('none')
})
