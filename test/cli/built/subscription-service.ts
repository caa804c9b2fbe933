// The subscription routes over a real server, which fails, loses and masks as a test wants it.
import { serve } from './apps.ts'

/** A subscription as the service has it. */
export interface Row {
  id: string
  url: string
  events: string[]
  secret: string
  active: boolean
}

export interface DeliveryRow {
  id: string
  subscriptionId: string
  status: string
  attempts: { status: number }[]
}

const hook = 'https://app.example.com/hooks'
export const old = (id: string, events: string[], active = true): Row => ({
  id,
  url: hook,
  events,
  secret: `secret-of-${id}`,
  active,
})

/** The subscription routes, over a real server: what the tool speaks to. */
export async function service(
  rows: Row[],
  options: {
    failOn?: (method: string, path: string) => boolean
    refuses?: (method: string) => boolean
    /** Does what it is asked, and never answers. */
    loses?: (method: string, path: string) => boolean
    /** Waits before it does what it is asked. */
    before?: (method: string, path: string) => Promise<void> | undefined
    /** Shows secrets never, or only in the answer to a creation. */
    masks?: 'always' | 'later'
    /** Keeps what is deleted, as inactive. */
    soft?: boolean
    /** The answer to a page of the list; all of it on one page by default. */
    list?: (shown: readonly Row[], page: number) => unknown
    /** The answer to a list of deliveries; all of them, whatever is asked, by default. */
    deliveries?: (all: readonly DeliveryRow[], query: URLSearchParams) => [number, unknown]
  } = {},
) {
  const asked: string[] = []
  const delivered: DeliveryRow[] = []
  let made = 0
  const url = await serve(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://a.test')
    const method = request.method ?? ''
    const path = pathname.replace('/_sandbox', '')
    const id = path.split('/')[2]
    const body = text === '' ? {} : (JSON.parse(text) as Partial<Row>)
    const row = rows.find((one) => one.id === id)
    const reply = (status: number, json: unknown) => {
      if (options.loses?.(method, path)) response.destroy()
      else response.writeHead(status).end(JSON.stringify(json))
    }
    const mask = (one: Row) =>
      searchParams.get('reveal') && !options.masks ? one : { ...one, secret: 'sec…***' }
    if (method !== 'GET') asked.push(`${method} ${path}`)
    await options.before?.(method, path)
    if (options.failOn?.(method, path)) return reply(500, { code: 'BROKEN' })
    if (options.refuses?.(method)) return reply(403, { code: 'FORBIDDEN' })
    if (path === '/deliveries') {
      const { deliveries = (data) => [200, { data }] } = options
      return reply(...deliveries(delivered, searchParams))
    }
    if (path === '/subscriptions' && method === 'GET') {
      const { list = (data) => ({ data }) } = options
      return reply(200, list(rows.map(mask), Number(searchParams.get('page') ?? 1)))
    }
    if (path === '/subscriptions') {
      made += 1
      rows.push({ ...old(`new_${made}`, []), ...body })
      const last = rows.at(-1)
      return reply(201, options.masks === 'always' ? { ...last, secret: '***' } : last)
    }
    if (!row) return reply(404, { code: 'NOT_FOUND' })
    if (method === 'PATCH') Object.assign(row, body)
    if (method === 'DELETE' && options.soft) row.active = false
    else if (method === 'DELETE') rows.splice(rows.indexOf(row), 1)
    return reply(200, mask(row))
  }, '')
  const deliver = (subscriptionId: string, status = 'delivered', attempts = [503]) => {
    const id = `dlv_${delivered.length}`
    const made = { id, subscriptionId, status, attempts: attempts.map((one) => ({ status: one })) }
    delivered.push(made)
    return made
  }
  const state = () => rows.map(({ id, events, secret }) => [id, events.join(), secret])
  return { url, rows, asked, deliver, state }
}

export const mixed = () => [
  old('sub_1', ['request.approved', 'client.created']),
  old('sub_2', ['request.*']),
  old('sub_3', ['*']),
]
