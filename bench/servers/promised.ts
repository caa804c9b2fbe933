// The parts of the hand-written route with the same promises, for every framework: bodies that are
// counted as they arrive and have a deadline, and the reply.
import type { IncomingMessage } from 'node:http'
import type { Sample } from '../contenders/contender.ts'
import { promised, steps } from '../promised.ts'
import { maxBytes } from './route.ts'

/** Milliseconds for a body. */
const bodyTimeout = 10_000
/** The most bytes of all bodies that are held. */
const mostHeld = 64 << 20
let held = 0

/** Reads a body by hand with the promises: it counts as it arrives, and has a deadline. */
export function readPromised(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const end = (error?: Error) => {
      clearTimeout(timer)
      held -= length
      if (error) {
        request.destroy()
        reject(error)
      } else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length))
    }
    const timer = setTimeout(() => end(new Error('too slow')), bodyTimeout)
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      held += chunk.length
      if (length > maxBytes || held > mostHeld) end(new Error('too much'))
      chunks.push(chunk)
    })
    request.on('end', () => end())
    request.on('error', reject)
    request.on('close', () => request.complete || reject(new Error('incomplete')))
  })
}

/** Reads the body of a `Request`, with the same promises. */
export function fetchPromised(request: Request): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const length = Number(request.headers.get('content-length') ?? Number.NaN)
    if (!(length <= maxBytes) || held + length > mostHeld) {
      reject(new Error('too much'))
      return
    }
    held += length
    const end = () => {
      clearTimeout(timer)
      held -= length
    }
    const timer = setTimeout(() => {
      end()
      reject(new Error('too slow'))
    }, bodyTimeout)
    request.arrayBuffer().then((bytes) => {
      end()
      resolve(Buffer.from(bytes))
    }, reject)
  })
}

/** The delivery by hand, with all promises. */
export function promisedWork(sample: Sample) {
  return promised(sample, steps.length - 1)
}

export const promisedReply = JSON.stringify({ outcome: 'handled' })
export const promisedHeaders = {
  'content-type': 'application/json; charset=utf-8',
  'content-length': promisedReply.length,
}
