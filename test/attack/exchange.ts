// One request on a connection of its own: a pooled one may die while the attacked server stalls.
import { request } from 'node:http'

export interface Exchange {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Milliseconds after which it fails. */
  readonly most?: number
}

export interface Answer {
  readonly status: number
  readonly text: string
  /** Milliseconds until the whole answer was there. */
  readonly took: number
}

export function exchange(url: string, options: Exchange = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body = '', most = 60_000 } = options
  const start = performance.now()
  return new Promise((resolve, reject) => {
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const sent = request(
      url,
      {
        method,
        agent: false,
        headers: { ...headers, ...length },
        signal: AbortSignal.timeout(most),
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('error', reject)
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, text, took: performance.now() - start })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}
