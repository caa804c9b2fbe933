// What strangers can make a recorder hold: senders that never end their bodies.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startRecorder } from '../../tools/cli/recorder.ts'

const mebibyte = 1024 ** 2

async function recording(maxBytes: number, more: { readonly bodyTimeout?: number } = {}) {
  const errors: string[] = []
  const sizes: number[] = []
  const recorder = await startRecorder({
    port: 0,
    host: '127.0.0.1',
    status: 200,
    maxBytes,
    timeout: 1,
    signal: new AbortController().signal,
    onArrival: async ({ body }) => Boolean(sizes.push(body.length)),
    onError: (error) => errors.push((error as Error).message),
    onRefused: () => {},
    ...more,
  })
  onTestFinished(() => recorder.close())
  const { url, port } = recorder
  const post = (bytes: number) => fetch(url, { method: 'POST', body: new Uint8Array(bytes) })
  return { port, errors, sizes, post }
}

/** Sends a part of a body, and what it answers before the rest has come. */
function unfinished(port: number, { sent, of }: { readonly sent: number; readonly of: number }) {
  const socket: Socket = connect(port, '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.write(`POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: ${of}\r\n\r\n`)
  socket.write(Buffer.alloc(sent))
  const status = once(socket, 'data').then(([answer]) => String(answer).split(' ', 2)[1])
  // A test may end the socket without a word of it.
  status.catch(() => {})
  return { socket, status }
}

test('bodies that never end hold a bounded number of bytes, and one after them is recorded', async () => {
  const most = 16 * mebibyte
  const { port, errors, sizes, post } = await recording(most)
  const status = async (bytes: number) => (await post(bytes)).status
  const begun = Array.from({ length: 5 }, () => unfinished(port, { sent: most - 100, of: most }))
  // Four of them fit, with 400 bytes to spare.
  await expect.poll(() => errors, { timeout: 10_000 }).toHaveLength(1)
  await expect.poll(() => status(1000), { timeout: 10_000 }).toBe(503)
  expect(new Set(errors)).toEqual(
    new Set(['the bodies of all requests at this time hold more than 67108864 bytes']),
  )
  for (const { socket } of begun) socket.destroy()
  await expect.poll(() => status(1000)).toBe(200)
  expect(await status(most)).toBe(200)
  expect(sizes.at(-1)).toBe(most)
})

test('a body that has not come by its deadline is answered 408, and holds nothing any more', async () => {
  const { port, errors, sizes, post } = await recording(100, { bodyTimeout: 50 })
  expect(await unfinished(port, { sent: 10, of: 100 }).status).toBe('408')
  expect(errors).toEqual(['its body did not arrive within 0.05 s'])
  expect((await post(100)).status).toBe(200)
  expect(sizes).toEqual([100])
})
