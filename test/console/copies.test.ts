import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { laidOut, toCurl } from '../../tools/console/pages/text.ts'
import { listening } from './listening.ts'

// A terminal takes the first as keys, also within quotes: Ctrl-C drops what was quoted, and the rest is
// run. Others end the quotes of a shell: of fish, cmd, PowerShell, or csh, which has its history there.
test.each([
  "\\'; touch owned; true #",
  "' & touch owned & '",
  '" & touch owned & "',
  '%PATH%^|<>',
  '\u2019; touch owned #',
  '!touch',
  '\x03\ntouch owned\n#',
  '\x1b[201~\rtouch owned\r',
  '\x04\x1a\x1c\x7f\x9b',
  "'\n; touch owned",
  '\t\t',
  '\n!!',
])(
  'a copied command has nothing of a sender that a terminal or a shell obeys, and sends its bytes: %j',
  async (evil) => {
    const arrived: Buffer[] = []
    const server = createServer((request, response) => {
      note = request.headers['x-note']
      request.on('data', (chunk: Buffer) => arrived.push(chunk))
      request.on('end', () => response.end())
    })
    onTestFinished(() => void server.close())
    const url = await listening(server)
    const body = `{"event":"client.created","note":"Jane"}${evil}`
    const headers = [['x-note', `a${evil}b`]] as const
    let note: unknown
    const base64 = Buffer.from(body).toString('base64')
    const given = `${url}/?note=${encodeURIComponent(evil)}`
    const command = toCurl({ method: 'POST', url: given, headers, body: base64 })
    // Besides what is encoded, no letter that ends quotes, or is obeyed within them, in any shell.
    const line = command.replaceAll(' \\\n  ', ' ')
    const rest = line.replaceAll(/printf %s [\w+/=]+ \| base64 -d( \| )?/g, '')
    expect(rest).not.toMatch(/[^ -~]|[\\!&|<>^%]/)
    const done = once(server, 'request')
    await promisify(execFile)('sh', ['-c', command])
    await done
    expect(Buffer.concat(arrived).toString()).toBe(body)
    const sent = Buffer.from(String(note), 'latin1').toString()
    expect(sent).toBe(`a${evil.replaceAll(/\p{Cc}/gu, ' ')}b`)
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
