import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { toCurl } from '../../src/console/pages/export.ts'
import { laidOut } from '../../src/console/pages/laid-out.ts'
import { listening } from './listening.ts'

// A terminal takes them as keys, also within quotes: Ctrl-C drops what was quoted, and the rest is run.
test.each([
  '\x03\ntouch owned\n#',
  '\x1b[201~\rtouch owned\r',
  '\x04\x1a\x1c\x7f\x9b',
  "'\n; touch owned",
  '\t\t',
  '\n!!',
])(
  'a copied command has no control characters of a sender, and sends its bytes: %j',
  async (evil) => {
    const arrived: Buffer[] = []
    const server = createServer((request, response) => {
      request.on('data', (chunk: Buffer) => arrived.push(chunk))
      request.on('end', () => response.end())
    })
    onTestFinished(() => void server.close())
    const url = await listening(server)
    const body = `{"event":"client.created","note":"Jane"}${evil}`
    const headers = [['x-note', `a${evil}b`]] as const
    const base64 = Buffer.from(body).toString('base64')
    const command = toCurl({ method: 'POST', url, headers, body: base64 })
    expect(command.replaceAll(' \\\n  ', ' ')).not.toMatch(/\p{Cc}/u)
    expect(command).not.toContain('\ntouch')
    const done = once(server, 'request')
    await promisify(execFile)('sh', ['-c', command])
    await done
    expect(Buffer.concat(arrived).toString()).toBe(body)
  },
)

test('a method is a word, or quoted', () => {
  const command = toCurl({ method: 'GET; id', url: 'http://a.test/', headers: [], body: '' })
  expect(command).toBe("curl --globoff -X 'GET; id' 'http://a.test/'")
})

test('JSON that is long as well as deep is laid out in bounds', () => {
  let deep: unknown = Array.from({ length: 90_000 }, () => 1)
  for (let level = 0; level < 490; level++) deep = [deep]
  expect(laidOut(deep).length).toBeLessThan(200_100)
  expect(laidOut(Array.from({ length: 300_000 }, () => 1))).toMatch(/ more$/)
  expect(laidOut({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}')
})
