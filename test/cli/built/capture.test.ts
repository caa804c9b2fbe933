import { once } from 'node:events'
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { sign, verify } from 'idv-webhooks'
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { type Capture, fixture, readCapture, testSecret } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { apps, secret, serve } from './apps.ts'
import { folder, run, runJson, start } from './run.ts'

const env = { WEBHOOK_SECRET: secret }

async function recording(args: readonly string[] = []) {
  const dir = join(folder(), 'captures')
  const { until, ended, child } = start(['capture', '--port', '0', '--dir', dir, ...args], { env })
  const [, url = ''] = await until(/"url":"([^"]+)"|listening on (\S+),/).then(([, json, text]) => [
    '',
    json ?? text,
  ])
  const files = () => readdirSync(dir).sort()
  const read = (name = '') => JSON.parse(readFileSync(join(dir, name), 'utf8')) as Capture
  return { dir, url, ended, child, files, read, until }
}

/** A delivery with a person in every field that has room for one. */
const event = fixture('verification.approved')
const body = ` ${JSON.stringify(event, null, 1)}\n`

async function post(url: string, extra: Record<string, string> = {}) {
  const signed = await sign(body, { secret })
  const headers = { 'content-type': 'application/json', ...signed, ...extra }
  return fetch(`${url}/webhooks?token=private`, { method: 'POST', body, headers })
}

test('a capture holds no person, and verifies under the test secret', async () => {
  const { url, ended, dir, files, read } = await recording(['--count', '1'])
  await post(url, { authorization: 'Bearer private', 'x-forwarded-for': '203.0.113.9' })
  expect((await ended).code).toBe(0)
  const [file = ''] = files()
  expect(file).toMatch(/^\d{8}T\d{6}Z-001-verification\.approved\.json$/)
  const capture = read(file)
  const text = readFileSync(join(dir, file), 'utf8') + Buffer.from(capture.body, 'base64')
  const { subjectName, subjectEmail, subjectPhone, requestorName, accessToken } = event.data
  for (const one of [subjectName, subjectEmail, subjectPhone, requestorName, accessToken]) {
    expect(text).not.toContain(one)
  }
  expect(text).not.toMatch(/Robin|Example|private|203\.0\.113|Bearer/)
  expect(text).not.toContain(secret)
  const { delivery, redacted } = readCapture(capture)
  expect(redacted).toBe(true)
  expect((await verify(delivery, { secret: testSecret })).ok).toBe(true)
  expect(statSync(join(dir, file)).mode & 0o077).toBe(0)
})

test('--raw keeps the exact bytes and headers', async () => {
  const { url, ended, files, read } = await recording(['--count', '1', '--raw', '--yes'])
  await post(url)
  await ended
  const capture = read(files()[0])
  expect(Buffer.from(capture.body, 'base64').toString()).toBe(body)
  expect(capture.url).toMatch(/\/webhooks\?token=private$/)
  expect((await verify(readCapture(capture).delivery, { secret })).ok).toBe(true)
})

test('the app behind gets the exact bytes and headers, and its answer goes back', async () => {
  const seen: { url?: string; raw: string[]; body: string }[] = []
  const app = await serve(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    seen.push({ url: request.url ?? '', raw: request.rawHeaders, body: text })
    response.writeHead(418, { 'x-app': 'mine' }).end('short and stout')
  }, '')
  const { url, ended } = await recording(['--count', '1', '--to', app])
  // fetch would spell the header's name its own way.
  const headers = { 'X-Odd-Case': 'kept', 'Content-Length': body.length }
  const outgoing = request(`${url}/webhooks?token=private`, { method: 'POST', headers })
  outgoing.end(body)
  const [reply] = (await once(outgoing, 'response')) as [IncomingMessage]
  const answer = Buffer.concat(await reply.toArray()).toString()
  expect([reply.statusCode, reply.headers['x-app'], answer]).toEqual([
    418,
    'mine',
    'short and stout',
  ])
  await ended
  expect(seen).toMatchObject([{ url: '/webhooks?token=private', body }])
  expect(seen[0]?.raw.join()).toContain('X-Odd-Case,kept')
})

test('the answer goes back whole: large, with repeated headers, and not before it is there', async () => {
  const large = Buffer.alloc(300_000, 'é')
  const app = await serve((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Odd-Case', 'kept'])
      response.end(large)
    })
  })
  const { url, ended } = await recording(['--count', '1', '--to', app])
  const reply = await post(url)
  expect(Buffer.from(await reply.arrayBuffer()).equals(large)).toBe(true)
  expect(reply.headers.getSetCookie()).toEqual(['a=1', 'b=2'])
  await ended
})

test.each([
  ['', '/from/sender?token=private&b=2', '/from/sender?token=private&b=2'],
  ['', '//odd/path', '//odd/path'],
  ['/route', '/from/sender?token=private', '/route?token=private'],
  ['/route?own=1', '/?token=private', '/route?own=1&token=private'],
])('forwarded to %s, %s is called at %s', async (path, called, expected) => {
  const seen: (string | undefined)[] = []
  const app = await serve((request, response) => {
    seen.push(request.url)
    response.end()
  }, path)
  const { url, ended } = await recording(['--count', '1', '--to', app])
  const { port } = new URL(url)
  const outgoing = request({ host: '127.0.0.1', port, path: called, method: 'POST' })
  outgoing.end(body)
  await once(outgoing, 'response')
  await ended
  expect(seen).toEqual([expected])
})

test('the app may take as long as --timeout says', async () => {
  const app = await serve(() => {})
  const { url, ended } = await recording(['--count', '1', '--timeout', '0.2', '--to', app])
  expect((await post(url)).status).toBe(502)
  expect((await ended).stderr).toContain('raise --timeout')
})

test('a folder that cannot be written is told before anything listens', async () => {
  const dir = join(folder(), 'file')
  writeFileSync(dir, '')
  const { code, stderr } = await run(['capture', '--port', '0', '--dir', join(dir, 'captures')])
  expect(stderr).toMatch(/^error: --dir .* cannot be written: ENOTDIR/)
  expect(stderr).not.toContain('listening')
  expect(code).toBe(2)
})

test('a delivery that cannot be saved is reported and counted; the app answers nevertheless', async () => {
  const { url, ended, dir, child, until } = await recording(['--to', await apps.sound()])
  rmSync(dir, { recursive: true })
  writeFileSync(dir, '')
  expect((await post(url)).status).toBe(200)
  await until(/error: a delivery was not saved: /)
  rmSync(dir)
  await post(url)
  child.kill('SIGINT')
  const { code, stderr } = await ended
  expect(stderr).toMatch(/1 capture saved in .*, 1 delivery not saved\n/)
  expect(code).toBe(130)
})

test('without an app, a delivery that cannot be saved is answered with 500, and the command exits 1', async () => {
  const { url, ended, dir } = await recording(['--json', '--count', '1'])
  rmSync(dir, { recursive: true })
  writeFileSync(dir, '')
  expect((await post(url)).status).toBe(500)
  rmSync(dir)
  expect((await post(url)).status).toBe(200)
  const { code, stdout } = await ended
  expect(stdout).toContain('"code":"CAPTURE_NOT_KEPT"')
  expect(stdout).toContain('{"type":"summary","captures":1,"lost":1}')
  expect(code).toBe(1)
})

test("each delivery is reported as it arrives: signed or not, and the app's answer", async () => {
  const { url, ended } = await recording(['--count', '2', '--json', '--to', await apps.sound()])
  await post(url)
  await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"event":"Robin Example"}',
  })
  const { stdout, code } = await ended
  const records = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object)
  expect(records).toMatchObject([
    { type: 'ready', raw: false },
    {
      type: 'capture',
      event: 'verification.approved',
      bytes: body.length,
      verified: true,
      answer: { status: 200, outcome: 'ignored' },
    },
    { type: 'capture', verified: false, code: 'SIGNATURE_MISSING', answer: { status: 401 } },
    { type: 'summary', captures: 2 },
  ])
  expect(stdout).not.toContain('Robin')
  expect(code).toBe(0)
})

test('a capture replays into the app', async () => {
  const { url, ended, dir } = await recording(['--count', '1'])
  await post(url)
  await ended
  const args = ['replay', dir, '--to', await apps.sound(), '--resign']
  expect(await run(args, { env })).toMatchObject({ code: 0 })
})

test('a capture that names a shared token is not signed with the secret', async () => {
  const { url, ended, dir, files, read } = await recording(['--count', '1', '--raw', '--yes'])
  await post(url)
  await ended
  const [file = ''] = files()
  const scheme = { name: 'service', algorithm: 'token', header: 'User-Agent' }
  writeFileSync(join(dir, file), JSON.stringify({ ...read(file), scheme }))
  const args = ['replay', dir, '--to', await apps.sound()]
  const { code, stderr } = await run([...args, '--resign'], { env })
  expect(code).toBe(2)
  expect(stderr).toContain('names a scheme that sends the secret itself, in the header User-Agent')
  expect(await run(args, { env })).toMatchObject({ code: 0 })
})

test('a delivery that did not verify is marked in its file, and is not signed again', async () => {
  const { url, ended, dir, files, read } = await recording(['--count', '2'])
  await post(url)
  await fetch(url, {
    method: 'POST',
    headers: { ...(await sign(body, { secret: 'another' })), 'content-type': 'application/json' },
    body,
  })
  await ended
  const [good, forged] = files()
  expect(read(good)).toMatchObject({ redacted: true, verified: true })
  const made = read(forged)
  expect(made).toMatchObject({ redacted: true, verified: false, code: 'SIGNATURE_MISMATCH' })
  expect((await verify(readCapture(made).delivery, { secret: testSecret })).ok).toBe(false)

  const args = ['replay', dir, '--to', await apps.sound(), '--resign']
  const replayed = await runJson(args, { env })
  expect(replayed.code).toBe(0)
  expect(replayed.records).toMatchObject([
    { type: 'left-out', code: 'SIGNATURE_MISMATCH', file: expect.stringContaining('-002-') },
    { type: 'sent', status: 200 },
    { type: 'summary', wanted: 1, sent: 1 },
  ])
  expect(replayed.stderr).toContain('did not verify when it was recorded (SIGNATURE_MISMATCH)')
  expect((await runJson([...args, '--unverified'], { env })).records.at(-1)).toMatchObject({
    sent: 2,
    taken: 2,
  })
  const alone = ['replay', join(dir, forged ?? ''), ...args.slice(2)]
  expect(await run(alone, { env })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('all captures were skipped'),
  })
})

test('discover searches no redacted captures: their signature is not the sender’s', async () => {
  const own = await recording(['--count', '1'])
  await post(own.url)
  await own.ended
  const { records, stderr, stdout, code } = await runJson(['discover', own.dir], { env })
  expect(records).toEqual([{ type: 'discovered', result: 'redacted', captures: 1, redacted: 1 }])
  expect(stderr).toContain('record with capture --raw')
  expect(stdout).not.toContain('createReceiver')
  expect(code).toBe(1)
  const raw = await recording(['--count', '1', '--raw', '--yes'])
  await post(raw.url)
  await raw.ended
  const senders = await runJson(['discover', raw.dir, own.dir], { env })
  expect(senders.records[0]).toMatchObject({ result: 'found', captures: 1, redacted: 1 })
})

test('a web page cannot send a delivery, nor a request choose another host', async () => {
  const { url, child, ended, files } = await recording(['--to', await apps.sound()])
  const { port } = new URL(url)
  const from = (origin: string) =>
    fetch(url, { method: 'POST', body: '{}', headers: { origin, 'content-type': 'text/plain' } })
  expect((await from('https://evil.test')).status).toBe(403)
  expect((await from('null')).status).toBe(403)
  // An image of a page sends no Origin.
  const image = await fetch(url, { headers: { 'sec-fetch-site': 'cross-site' } })
  expect(image.status).toBe(403)
  // A page under a name that leads to this machine has the origin that it asks.
  const rebound = (more: Record<string, string>) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host: `evil.test:${port}`, ...more }
      const asked = request(url, { headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asked.on('error', reject).end()
    })
  expect(await rebound({ origin: `http://evil.test:${port}` })).toBe(403)
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(port), '127.0.0.1', () => {
      socket.write('POST x://y HTTP/1.1\r\nHost: a.test\r\nContent-Length: 0\r\n\r\n')
    })
    socket.once('data', (data) => {
      socket.destroy()
      resolve(String(data))
    })
  })
  expect(answer).toMatch(/^HTTP\/1.1 400 /)
  await post(url)
  child.kill('SIGINT')
  const { stderr } = await ended
  expect(stderr).toContain('a request was refused: a web page of another origin sent it')
  expect(files().length).toBe(1)
})

test('a sender that asks through a tunnel by Node’s fetch is recorded, its GET too', async () => {
  const { url, files } = await recording()
  const { port } = new URL(url)
  for (const method of ['GET', 'POST']) {
    // The headers that fetch() sends by itself; it would not send this Host.
    const own = { 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' }
    const headers = { host: `tunnel.test:${port}`, ...own }
    const status = await new Promise((resolve, reject) => {
      const asked = request(url, { method, headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asked.on('error', reject).end()
    })
    expect(status, method).toBe(200)
  }
  expect(files().length).toBe(2)
})

test('an app that answers only loopback sees that it was called under another name', async () => {
  const inbox = inboxConsole(createInbox({ store: memoryStore() }), { authorize: 'loopback' })
  const app = createServer(inbox.node)
  await new Promise<void>((resolve) => app.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void app.close())
  const { port } = app.address() as { port: number }
  const { url, child, ended } = await recording(['--to', `http://localhost:${port}`])
  const status = (host: string, more = {}) =>
    new Promise<number | undefined>((resolve, reject) => {
      const headers = { host, ...more }
      const asked = request(`${url}/api/entries`, { headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asked.on('error', reject).end()
    })
  expect(await status('localhost')).toBe(200)
  // A Host as DNS rebinding sends it, or a tunnel that adds no header.
  expect(await status('evil.test')).toBe(403)
  expect(await status('evil.test', { 'x-forwarded-host': 'localhost' })).toBe(403)
  child.kill('SIGINT')
  await ended
})

test('a body beyond the bound is refused and not kept', async () => {
  const { url, child, ended, files } = await recording(['--max-bytes', '100'])
  expect((await post(url)).status).toBe(413)
  child.kill('SIGINT')
  await ended
  expect(files()).toEqual([])
})

test('a port that is taken is an error with a way out', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const { code, stderr } = await run(['capture', '--port', String(port)])
  server.close()
  expect(code).toBe(1)
  expect(stderr).toContain('is in use: choose another --port')
})
