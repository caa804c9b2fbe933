// One request to the console's own server. What it refuses becomes a Problem with its fields.
import type { PageConfig } from '../page.ts'

/** Reads the address of the routes and the token, which the server wrote into the document. */
function readConfig(): PageConfig & { readonly token: string } {
  const content = document.querySelector<HTMLMetaElement>('meta[name="idv-console"]')?.content
  return JSON.parse(content ?? '{}')
}

export const config = readConfig()

interface RejectionBody {
  readonly code?: string
  readonly message?: string
  readonly errors?: readonly FieldProblem[]
}

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

/** A request that was refused, or that got no answer (status 0). */
export class Problem extends Error {
  readonly status: number
  readonly code: string
  readonly errors: readonly FieldProblem[]

  constructor(status: number, { code, message, errors }: RejectionBody) {
    super(message ?? `The server answered ${status}`)
    this.status = status
    this.code = code ?? 'UNKNOWN'
    this.errors = errors ?? []
  }
}

export interface RequestOptions {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** Sends a request with the token of this page and gives its JSON; throws a Problem if it is refused. */
export async function call<Answer>(path: string, options: RequestOptions = {}): Promise<Answer> {
  const { method = 'GET', body, headers, signal } = options
  const all = { 'x-console-token': config.token, 'content-type': 'application/json', ...headers }
  const sent = { method, headers: all, body: JSON.stringify(body), signal: signal ?? null }
  const response = await fetch(path, { cache: 'no-store', ...sent }).catch(() => {
    const message = 'No response from the server. Is it still running?'
    throw new Problem(0, { code: 'UNREACHABLE', message })
  })
  const content: unknown = await response.json().catch(() => ({}))
  if (!response.ok) throw new Problem(response.status, content as RejectionBody)
  return content as Answer
}

/** A query string of what is given; empty values are left out. */
export function query(values: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text && `?${text}`
}
