// Connections that no well-behaved sender makes: idle, dripping, endless and garbled ones.
import { connect, type Socket } from 'node:net'
import { madeUp } from './bombs.ts'
import type { Target } from './target.ts'

export interface Stranger {
  readonly socket: Socket
  /** Resolves with the milliseconds that the connection lived. */
  readonly closed: Promise<number>
}

/** Opens a connection and writes the head of a request. */
function open({ port }: Target, head: readonly string[]): Promise<Stranger> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const start = performance.now()
    const closed = new Promise<number>((done) => {
      socket.on('close', () => done(performance.now() - start))
    })
    socket.on('error', () => {})
    socket.once('error', reject)
    socket.resume()
    socket.once('connect', () => {
      const request = ['POST /webhooks HTTP/1.1', 'Host: 127.0.0.1', ...head, '', '']
      socket.write(request.join('\r\n'), () => resolve({ socket, closed }))
    })
  })
}

const json = 'Content-Type: application/json'
const signature = () => `X-Service-Signature: ${madeUp('service')}`

/** Declares a mebibyte and sends none of it. */
export function idle(target: Target): Promise<Stranger> {
  return open(target, [json, signature(), 'Content-Length: 1048576'])
}

/** Announces chunks and sends a few bytes now and then. */
export async function dripping(target: Target): Promise<Stranger> {
  const stranger = await open(target, [json, signature(), 'Transfer-Encoding: chunked'])
  const timer = setInterval(() => stranger.socket.write('1\r\n \r\n'), 200)
  stranger.socket.on('close', () => clearInterval(timer))
  return stranger
}

/** Sends a body in chunks of one byte each, and never its end. */
export async function crumbling(target: Target, bytes: number): Promise<Stranger> {
  const stranger = await open(target, [json, signature(), 'Transfer-Encoding: chunked'])
  const { socket } = stranger
  const at = 10_000
  const crumbs = Buffer.from('1\r\n \r\n'.repeat(at))
  for (let sent = 0; sent < bytes && !socket.destroyed; sent += at) {
    await new Promise<void>((written) => socket.write(crumbs, () => written()))
  }
  return stranger
}

/** Declares less or more than it sends. */
export async function lying(target: Target, declared: number, sent: number): Promise<Stranger> {
  const stranger = await open(target, [json, signature(), `Content-Length: ${declared}`])
  stranger.socket.write(' '.repeat(sent))
  return stranger
}

export interface EndlessOptions {
  readonly signed: boolean
  /** Milliseconds after which the attacker gives up. */
  readonly most: number
}

/** Sends a body without an end, as fast as it is taken, until the server cuts it off. */
export async function endless(target: Target, { signed, most }: EndlessOptions) {
  const head = [json, ...(signed ? [signature()] : []), 'Transfer-Encoding: chunked']
  const { socket, closed } = await open(target, head)
  const chunk = Buffer.from(`10000\r\n${' '.repeat(65_536)}\r\n`)
  let sent = 0
  let isOpen = true
  const write = () => {
    if (!isOpen) return
    sent += chunk.length
    // A pause, so that the attack leaves the machine some of itself.
    socket.write(chunk, () => setTimeout(write, 1))
  }
  write()
  const giveUp = setTimeout(() => socket.destroy(), most)
  const lived = await closed
  clearTimeout(giveUp)
  isOpen = false
  return { lived, sent }
}

/** Bytes that are no request, requests that break off, heads that never end. */
export async function garbage(target: Target, count: number): Promise<void> {
  const shapes = [
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'POST /webhooks HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef',
    'POST /webhooks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc',
    `POST /webhooks HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`,
    'POST /webhooks HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf',
    'POST /webhooks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
  ]
  for (let at = 0; at < count; at += 50) {
    const batch = Array.from({ length: Math.min(50, count - at) }, async (_, one) => {
      const socket = connect(target.port, '127.0.0.1')
      await new Promise<void>((done) => {
        socket.on('close', () => done())
        socket.on('error', () => {})
        socket.resume()
        socket.on('connect', () => socket.write(shapes[(at + one) % shapes.length] ?? ''))
        setTimeout(() => socket.destroy(), 50)
      })
    })
    await Promise.all(batch)
  }
}
