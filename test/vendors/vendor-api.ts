// A vendor's API on loopback: it answers with what a test prepares, and records what it was asked.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** A request as it arrived. */
export interface Asked {
  readonly method: string | undefined
  readonly url: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** An answer: a record, a status, raw text, or none at all. */
export type Answer =
  | { readonly record: unknown }
  | {
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly text?: string
    }
  | 'silence'

/** Addresses that give a token; each counts its requests. */
const logins = ['/v3/token', '/oauth2/token']

/** Serves the answers in turn; the last one repeats. A login always gets its token. */
export async function vendorApi(...answers: readonly Answer[]) {
  const asked: Asked[] = []
  const loggedIn: Asked[] = []
  const queue = [...answers]
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const { method, url, headers } = request
    if (logins.includes(String(url))) {
      loggedIn.push({ method, url, headers, body })
      response.end(JSON.stringify({ token: 'a-token', access_token: 'a-token' }))
      return
    }
    asked.push({ method, url, headers, body })
    const answer = queue.length > 1 ? queue.shift() : queue[0]
    if (answer === undefined || answer === 'silence') return
    if ('record' in answer) {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(answer.record))
      return
    }
    response.writeHead(answer.status, answer.headers).end(answer.text ?? '{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    baseUrl,
    asked,
    loggedIn,
    answerWith: (...next: readonly Answer[]) => queue.splice(0, 9, ...next),
  }
}
