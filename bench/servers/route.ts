// A route that takes deliveries, in every framework: the bare one that reads and answers, the one
// written by hand, this package's and the best peer's.
import type { IncomingMessage, RequestListener } from 'node:http'
import { finish, type Sample } from '../contenders/contender.ts'
import { verifyAndParse } from '../contenders/recipe.ts'

export const path = '/hook'
export const maxBytes = 2 << 20

export const ways = [
  'bare',
  'hand-written',
  'hand-written, same promises',
  'idv-webhooks',
  '@octokit/webhooks',
] as const
export type Way = (typeof ways)[number]

export type FetchHandler = (request: Request) => Promise<Response>
export type Route = { readonly listener: RequestListener } | { readonly fetch: FetchHandler }

/** Makes the route of one way; undefined where a framework has no middleware of that peer. */
export type MakeRoute = (way: Way, sample: Sample) => Promise<Route | undefined>

/** The work of the bare and of the hand-written route on a body that was read. */
export type Work = (body: Buffer, signature: string | undefined) => unknown

export function workOf(way: Way, sample: Sample): Work | undefined {
  if (way === 'bare') return () => true
  if (way === 'hand-written') {
    return (body, signature) => finish(verifyAndParse(body, signature), sample)
  }
  return undefined
}

/** Reads a body as one does by hand, with a bound. */
export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    request.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > maxBytes) request.destroy()
      chunks.push(chunk)
    })
    request.on('end', () => resolve(Buffer.concat(chunks, length)))
    request.on('error', reject)
  })
}

export function signatureOf(request: IncomingMessage): string | undefined {
  return request.headers['x-service-signature'] as string | undefined
}
